"""Comments, docstrings and documents name what acts or is told: a thread, a shift, a user, a
server.
"""

from __future__ import annotations

import ast
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.test_names import ROOMS, ROOT, modules

#: words behind which a reader must guess; `nobody` in quotes is an account of the system
VAGUE = re.compile(r"(?<!`)\b(?:any|every|no|some)body\b(?!`)|\bwhoever\b", re.IGNORECASE)
#: subjects for which a reader must read on
RIDDLES = r"(?:What|Whose|Who|Whoever|Those (?:that|who|whose|which|of))\b"
#: subjects for which a reader must look back; where a text begins there is nothing to look at
PRONOUNS = r"(?:It|Its|They|Their|Them)\b"
BEGINNING = r"(?:\A|(?<=[.!?:;]\s)|(?<=\n\n)|(?<=^- )|(?<=\| ))"
REST = r"[^.!?|]*[.!?|]?"
RIDDLE = re.compile(BEGINNING + RIDDLES + REST, re.MULTILINE)
PRONOUN = re.compile(rf"\A{PRONOUNS}{REST}")
#: phrases for which a sentence of its own, or a plain word, stands
ROUNDABOUT = re.compile(
    r";\s+whether\b|\bnonsense\b|\bhalves\s+of\s+characters\b|\bderived?\s+of\b", re.IGNORECASE
)
#: a docstring is read without the name of what it belongs to
WITHOUT_NOUN = re.compile(r"\AOf\b(?! course)[^.:;]*")
#: histories and measurements, which stay as they were written
HISTORIES = ("CHANGELOG.md", "docs/decisions/", "docs/figures/", "benchmarks/")


@cache
def comments(path: Path) -> tuple[str, ...]:
    """The comments of a module; lines that follow each other at one place are one."""
    return tuple(_comments(path))


def _comments(path: Path) -> Iterator[str]:
    behind, text = (0, 0), ""
    with tokenize.open(path) as file:
        tokens = tokenize.generate_tokens(file.readline)
        for token in (token for token in tokens if token.type == tokenize.COMMENT):
            line, column = token.start
            if text and behind != token.start:
                yield text
                text = ""
            text = f"{text}\n{token.string.lstrip('#: ')}".lstrip()
            behind = (line + 1, column)
    yield text


@cache
def errors() -> frozenset[str]:
    """The names of classes of errors: the docstring of one is the message that users read."""
    trees = [ast.parse((ROOT / path).read_text()) for path in modules()]
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {
        name
        for name, above in bases.items()
        if any(base.endswith(("Error", "Exception")) for base in above)
    }
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return frozenset(found)


def docstrings(path: Path, *, but: frozenset[str] = frozenset()) -> Iterator[str]:
    """The docstrings of a module, but for those of classes with these names."""
    return (text for name, text in all_docstrings(path) if name not in but)


@cache
def all_docstrings(path: Path) -> tuple[tuple[str, str], ...]:
    """Each behind the name of its class, if it is one's."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return tuple(
        (node.name if isinstance(node, ast.ClassDef) else "", ast.get_docstring(node) or "")
        for node in statements(ast.parse(path.read_text()))
        if isinstance(node, documented)
    )


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all statements below it, which no expression has."""
    yield node
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for below in getattr(node, field, ()):
            yield from statements(below)


def prose(path: Path) -> Iterator[str]:
    yield from comments(path)
    yield from docstrings(path)


def riddles(text: str) -> list[str]:
    """The sentences whose subject comes behind it; a question may ask for one."""
    return [found[0] for found in RIDDLE.finditer(text) if not found[0].endswith("?")]


def unclear(path: Path) -> Iterator[str]:
    """The sentences of a module for whose subject a reader must read on, or look back."""
    for text in prose(path):
        yield from riddles(text)
    for text in (*comments(path), *docstrings(path, but=errors())):
        yield from PRONOUN.findall(text)


def roundabout(path: Path) -> Iterator[str]:
    """The phrases of a module that tell a result, or what is invalid, in a roundabout way."""
    for text in prose(path):
        yield from ROUNDABOUT.findall(text)
    for text in docstrings(path):
        yield from WITHOUT_NOUN.findall(text)


def files(*patterns: str) -> list[Path]:
    listed = subprocess.check_output(["git", "ls-files", *patterns], cwd=ROOT, text=True)
    return [Path(name) for name in listed.splitlines() if (ROOT / name).exists()]


@pytest.mark.parametrize("room", ROOMS)
def test_comments_say_which_thing_or_person_acts(room):
    places = [path for path in modules() if path.parts[0] == room]

    vague = {
        f"{match[0]} ({path})"
        for path in places
        for text in prose(ROOT / path)
        for match in VAGUE.finditer(text)
    }

    assert places
    assert sorted(vague) == []


@pytest.mark.parametrize("room", [*ROOMS, "tests"])
def test_comments_begin_with_the_thing_that_they_are_about(room):
    places = [path for path in files(f"{room}/*.py") if "migrations" not in path.parts]

    found = [f"{path}: {text[:90]}" for path in places for text in unclear(ROOT / path)]

    assert places
    assert found == []


@pytest.mark.parametrize("room", ROOMS)
def test_comments_tell_results_in_sentences_of_their_own(room):
    places = [path for path in modules() if path.parts[0] == room]

    found = [f"{path}: {text[:90]}" for path in places for text in roundabout(ROOT / path)]

    assert places
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('def f():\n    """Write it; whether\n    it fits."""\n', ["; whether"]),
        ('def f():\n    """Write it. Return whether it fits."""\n', []),
        ('def f():\n    """Of the run. All of it."""\n', ["Of the run"]),
        ("# Of two runs the later\n", []),
        ("# nonsense counts as nothing\n", ["nonsense"]),
        ("x = 1  # without halves of characters\n", ["halves of characters"]),
        ("# data derived of pages\n", ["derived of"]),
    ],
)
def test_a_roundabout_phrase_is_refused(source, expected, tmp_path):
    module = tmp_path / "module.py"
    module.write_text(source)

    found = [" ".join(text.split()) for text in roundabout(module)]

    assert found == expected


def test_documents_begin_sentences_with_the_thing_that_they_are_about():
    documents = [path for path in files("*.md") if not str(path).startswith(HISTORIES)]

    found = [
        f"{path}: {' '.join(text.split())[:90]}"
        for path in documents
        for text in riddles((ROOT / path).read_text())
    ]

    assert Path("docs/guide.md") in documents
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# What waits is kept.\n", ["What waits is kept."]),
        ("# Rows stay. Those that\n# wait go first.\n", ["Those that\nwait go first."]),
        ("x = 1  # Whose turn it is\n", ["Whose turn it is"]),
        ("# Whose turn is it?\n# The first one's.\n", []),
        ('def f():\n    """It goes. It stays."""\n', ["It goes."]),
        ('class Gone(ValueError):\n    """It is gone."""\n', ["It is gone."]),
        ("# A row. It stays, and what is in it.\n", []),
    ],
)
def test_a_sentence_is_refused_whose_subject_must_be_guessed(source, expected, tmp_path):
    module = tmp_path / "module.py"
    module.write_text(source)

    assert list(unclear(module)) == expected
