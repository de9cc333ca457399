"""Comments and docstrings name what acts: a thread, a shift, a user, a server."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_names import ROOMS, ROOT, modules

#: words behind which a reader must guess; `nobody` in quotes is an account of the system
VAGUE = re.compile(r"(?<!`)\b(?:any|every|no|some)body\b(?!`)|\bwhoever\b", re.IGNORECASE)


def prose(path: Path) -> Iterator[str]:
    """The comments and docstrings of a module."""
    with tokenize.open(path) as file:
        tokens = tokenize.generate_tokens(file.readline)
        yield from (token.string for token in tokens if token.type == tokenize.COMMENT)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


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
