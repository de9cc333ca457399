"""Public classes have unique names, made of the words of the field and of the glossary; what a
field means stands beside it.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("crawlsite", "experiments", "crawling", "allocation", "dnscache", "serving")
#: Django and pytest look for these by name
PRESCRIBED = {"Meta", "Command", "Migration", "Config"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@cache
def modules() -> tuple[Path, ...]:
    listed = subprocess.check_output(["git", "ls-files", *ROOMS], cwd=ROOT, text=True)
    paths = (Path(name) for name in listed.split() if name.endswith(".py"))
    return tuple(p for p in paths if "migrations" not in p.parts and (ROOT / p).exists())


@cache
def classes() -> dict[str, list[str]]:
    found = defaultdict(list)
    for path in modules():
        for node in ast.parse((ROOT / path).read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name not in PRESCRIBED:
                found[node.name].append(str(path))
    return found


def is_record(node: ast.ClassDef) -> bool:
    """Whether the class is a data class, a named tuple or a protocol."""
    above = [ast.unparse(each) for each in (*node.decorator_list, *node.bases)]
    return any("dataclass" in each or each in {"NamedTuple", "Protocol"} for each in above)


def explained_in_docstring(node: ast.ClassDef) -> list[str]:
    """Return the fields that the docstring explains: it has `name` in quotes, or `name:`."""
    text = ast.get_docstring(node) or ""
    fields = [ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)]
    return [name for name in fields if re.search(rf"`{name}`|\b{name}: ", text)]


def words_of(name: str) -> list[str]:
    """Return the words in small letters: `HostQueue` and `host_queue` are `host` and `queue`."""
    return [word.lower() for word in WORD.findall(name)]


@cache
def of_the_glossary() -> frozenset[str]:
    """The words of the glossary's terms."""
    terms = re.findall(r"^\*\*(.+?)\*\*", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    return frozenset(word for term in terms for word in words_of(term))


@cache
def of_the_field() -> frozenset[str]:
    """The words of the list of the field's terms."""
    lines = (ROOT / "tests/terms.txt").read_text().splitlines()
    return frozenset(line for line in lines if line and line[0] != "#")


@cache
def known() -> frozenset[str]:
    return of_the_glossary() | of_the_field()


def singular(word: str) -> set[str]:
    """The forms by which a word may be listed."""
    return {word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)}


def is_known(word: str) -> bool:
    return not known().isdisjoint(singular(word))


def test_no_two_public_classes_have_one_name():
    public = {name: where for name, where in classes().items() if name[0] != "_"}
    assert {name: where for name, where in public.items() if len(where) > 1} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_words_of_module_names_are_the_fields_or_in_the_glossary(room):
    unknown = {
        f"{word} ({path})"
        for path in modules()
        if path.parts[0] == room
        for part in path.with_suffix("").parts
        for word in words_of(part)
        if not is_known(word)
    }
    assert sorted(unknown) == [], "define them in docs/glossary.md, or list them in tests/terms.txt"


@pytest.mark.parametrize("room", ROOMS)
def test_words_of_class_names_are_the_fields_or_in_the_glossary(room):
    unknown = {
        f"{word} ({name}, {path})"
        for name, where in classes().items()
        for path in where
        if path.startswith(room + "/")
        for word in words_of(name)
        if not is_known(word)
    }
    assert sorted(unknown) == [], "define them in docs/glossary.md, or list them in tests/terms.txt"


def test_a_listed_term_is_in_some_name_and_not_in_the_glossary():
    names = [part for path in modules() for part in path.with_suffix("").parts]
    used = {
        form for name in [*names, *classes()] for word in words_of(name) for form in singular(word)
    }
    assert sorted(of_the_field() - used) == []
    twice = sorted(of_the_field() & of_the_glossary())
    assert twice == [], "the glossary has them: take them out of tests/terms.txt"


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_field_means_stands_beside_it_and_not_in_the_docstring(room):
    records = [
        (path, node)
        for path in modules()
        if path.parts[0] == room
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.ClassDef) and is_record(node)
    ]
    away = {
        f"{name} ({node.name}, {path})"
        for path, node in records
        for name in explained_in_docstring(node)
    }
    assert records
    assert sorted(away) == []
