"""Pages, messages and the API's description use one word for one thing: `banned_words.txt` lists
words that were replaced, each with the word that stands for it.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from crawlsite.api.root import api
from tests.test_comments import riddles
from tests.test_names import ROOMS

ROOT = Path(__file__).parent.parent
#: what a browser shows or reads out besides the text between tags
SHOWN_ATTRIBUTES = {"alt", "aria-label", "aria-description", "placeholder", "title", "hx-confirm"}
#: text in these is for programs
UNSHOWN_TAGS = {"script", "style"}
TEMPLATE_TAG = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
QUOTED = re.compile(r"\"([^\"]*)\"")
#: parts of a template's tags that are shown: what `with` hands on, and what filters add
SAYING_TAG = re.compile(r"\{%\s*(?:include|with|translate)\b(.*?)%\}", re.DOTALL)
SQL = re.compile(r"\b(SELECT|UPDATE|INSERT|DELETE|CREATE|ALTER|WHERE|FROM)\b")


@cache
def banned() -> dict[str, str]:
    """The replaced words, each with the words that stand for it."""
    lines = (ROOT / "tests/banned_words.txt").read_text().splitlines()
    pairs = (line.split(" -> ", 1) for line in lines if line and line[0] != "#")
    return dict(pairs)


@cache
def pattern() -> re.Pattern[str]:
    words = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in banned())
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


def found_in(text: str) -> list[str]:
    return [match[0] for match in pattern().finditer(text)]


class ShownText(HTMLParser):
    """Collects what a page shows: text, and attributes that are read out."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[int, str]] = []
        self._unshown = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unshown += tag in UNSHOWN_TAGS
        for name, value in attrs:
            if name in SHOWN_ATTRIBUTES and value:
                self.said.append((self.getpos()[0], value))

    def handle_endtag(self, tag: str) -> None:
        self._unshown -= tag in UNSHOWN_TAGS

    def handle_data(self, data: str) -> None:
        if not self._unshown:
            self.said.append((self.getpos()[0], data))


def lines_only(match: re.Match[str]) -> str:
    """Nothing but the line ends of a template's tag, so that lines keep their numbers."""
    return "\n" * match[0].count("\n")


def texts_of_template(source: str) -> Iterator[tuple[int, str]]:
    for tag in SAYING_TAG.finditer(source):
        for quoted in QUOTED.findall(tag[1]):
            yield source.count("\n", 0, tag.start()) + 1, quoted
    page = ShownText()
    page.feed(TEMPLATE_TAG.sub(lines_only, source))
    page.close()
    yield from page.said


def docstrings(tree: ast.AST) -> set[int]:
    """The nodes of docstrings, and of sentences that document a field."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


@cache
def texts_of_module(source: str) -> tuple[tuple[int, str], ...]:
    """Strings that a user may read: with a space or a capital, and no SQL."""
    return tuple(_texts(ast.parse(source)))


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    unshown = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_sentence = " " in node.value or node.value[:1].isupper()
            if id(node) not in unshown and is_sentence and not SQL.search(node.value):
                yield node.lineno, node.value


def files(*patterns: str) -> list[str]:
    listed = subprocess.check_output(["git", "ls-files", *patterns], cwd=ROOT, text=True)
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


def replaced(where: str, texts: Iterable[tuple[int, str]]) -> list[str]:
    return [
        f"{where}:{line}: {word!r} in {' '.join(text.split())[:120]!r}"
        for line, text in texts
        for word in found_in(text)
    ]


def guessed(where: str, texts: Iterable[tuple[int, str]]) -> list[str]:
    """The sentences whose subject comes last; heads of columns and labels have no full stop."""
    return [
        f"{where}:{line}: {sentence[:120]}"
        for line, text in texts
        for sentence in riddles(" ".join(text.split()))
        if sentence.endswith(".")
    ]


def test_templates_say_no_word_that_was_replaced():
    found = [
        fault
        for name in files("templates/*", "*/templates/*")
        for fault in replaced(name, texts_of_template((ROOT / name).read_text()))
    ]
    assert found == []


@pytest.mark.parametrize("room", ["crawlsite", "experiments", "crawling", "allocation", "dnscache"])
def test_messages_say_no_word_that_was_replaced(room):
    found = [
        fault
        for name in files(f"{room}/*.py", f"{room}/**/*.py")
        if "/migrations/" not in name
        for fault in replaced(name, texts_of_module((ROOT / name).read_text()))
    ]
    assert found == []


def test_pages_begin_sentences_with_the_thing_that_they_are_about():
    found = [
        fault
        for name in files("templates/*.html", "templates/**/*.html", "templates/*.txt")
        for fault in guessed(name, texts_of_template((ROOT / name).read_text()))
    ]
    assert found == []


@pytest.mark.parametrize("room", ROOMS)
def test_messages_begin_sentences_with_the_thing_that_they_are_about(room):
    found = [
        fault
        for name in files(f"{room}/*.py", f"{room}/**/*.py")
        if "/migrations/" not in name
        for fault in guessed(name, texts_of_module((ROOT / name).read_text()))
    ]
    assert found == []


def texts_of_schema(node: object, where: str = "") -> Iterator[tuple[str, str]]:
    """The sentences and tags of the schema, each with its place."""
    if isinstance(node, list):
        for each in node:
            yield from texts_of_schema(each, where)
    elif isinstance(node, dict):
        for key, value in node.items():
            here = f"{where}/{key}"
            if key == "tags" and isinstance(value, list):
                yield from ((here, str(tag)) for tag in value)
            elif key in {"description", "summary"} and isinstance(value, str):
                yield here, value
            else:
                yield from texts_of_schema(value, here)


def test_the_api_describes_itself_without_words_that_were_replaced():
    schema = api.get_openapi_schema()
    found = [
        f"{where}: {word!r} in {text[:120]!r}"
        for where, text in texts_of_schema(schema)
        for word in found_in(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<p>{# the keeper #}Fine</p>", []),
        ("<p>The Keeper\n is gone</p>", ["Keeper"]),
        ('<a href="/keeper/" title="The keeper">x</a>', ["keeper"]),
        ("<script>keeper()</script>", []),
        ("{% include 'x.html' with said=\"The keeper\" %}", ["keeper"]),
    ],
)
def test_what_a_template_shows_is_read_and_nothing_else(source, expected):
    said = [word for _, text in texts_of_template(source) for word in found_in(text)]
    assert said == expected


def test_messages_are_read_and_docstrings_are_not():
    source = '"""The keeper."""\nA = f"no {x} keeper"\nB = "SELECT 1 FROM keeper"\n'
    assert [word for _, text in texts_of_module(source) for word in found_in(text)] == ["keeper"]


def test_no_word_stands_for_another_that_was_replaced():
    assert {new: found_in(new) for new in banned().values() if found_in(new)} == {}
