"""A state as JSON, and back. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from allocation.whatif.bad_file import BadFile, built
from allocation.whatif.sandbox import Sandbox

KEYS = ("classes", "available", "processes", "maximum", "allocation")
BLANKS = re.compile(r"[ \t\r\n]*")
Path = tuple[str | int, ...]


def to_json(sandbox: Sandbox) -> str:
    """An object as `/api/banker/check` takes it, with a line for each process."""
    state = sandbox.state
    values = (sandbox.classes, state.available, sandbox.processes, state.maximum, state.allocation)
    return (
        "{\n"
        + ",\n".join(
            f"  {json.dumps(key)}: {_lines(value)}" for key, value in zip(KEYS, values, strict=True)
        )
        + "\n}\n"
    )


def _lines(value: Sequence[Any]) -> str:
    if value and isinstance(value[0], tuple):
        return "[\n" + ",\n".join(f"    {json.dumps(row)}" for row in value) + "\n  ]"
    return json.dumps(value, ensure_ascii=False)


def from_json(text: str) -> Sandbox:
    """Raises BadFile."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadFile(
            f"This is no JSON: {error.msg[:1].lower()}{error.msg[1:]}.", error.lineno, error.colno
        ) from error
    except (ValueError, RecursionError) as error:
        raise BadFile("This JSON is nested too deep, or has a number that is too long.") from error
    for path, sentence in _mistakes(found):
        at = _position(text, path)
        raise BadFile(sentence, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
    return built(
        found["classes"],
        found["processes"],
        found["available"],
        found["maximum"],
        found["allocation"],
    )


def _mistakes(found: Any) -> Iterator[tuple[Path, str]]:
    """What is wrong and where, in an order in which each may rely on what was looked at before
    it."""
    if not isinstance(found, dict):
        yield (), f"The whole is to be an object with {', '.join(KEYS)}."
        return
    for key in KEYS:
        if not isinstance(found.get(key), list):
            yield (key,) if key in found else (), f"“{key}” is to be a list."
            return
    for key in found:
        if key not in KEYS:
            yield (key,), f"“{key[:40]}” is not known here. Leave it out."
    yield from _name_mistakes(found)
    yield from _row_mistakes(("available",), found["available"], len(found["classes"]))
    for key in ("maximum", "allocation"):
        for i, row in enumerate(found[key]):
            yield from _row_mistakes((key, i), row, len(found["classes"]))
    yield from _held_too_much(found["maximum"], found["allocation"])


def _name_mistakes(found: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    for key in ("classes", "processes"):
        for i, name in enumerate(found[key]):
            if not isinstance(name, str):
                yield (key, i), f"{key}[{i}] is to be a name in quotes."


def _held_too_much(
    maximum: list[list[int]], allocation: list[list[int]]
) -> Iterator[tuple[Path, str]]:
    for i, (most, held) in enumerate(zip(maximum, allocation, strict=False)):
        for j, (a, b) in enumerate(zip(held, most, strict=True)):
            if a > b:
                yield (
                    ("allocation", i, j),
                    f"allocation[{i}][{j}] is {a}, more than the maximum {b}.",
                )


def _row_mistakes(path: Path, row: Any, length: int) -> Iterator[tuple[Path, str]]:
    name = str(path[0]) + "".join(f"[{i}]" for i in path[1:])
    if not isinstance(row, list) or len(row) != length:
        yield path, f"{name} is to be a list of {length} numbers, one for each class."
        return
    for j, units in enumerate(row):
        if type(units) is not int or units < 0:
            yield (*path, j), f"{name}[{j}] is to be a whole number from 0 up."


def _position(text: str, path: Path) -> int:
    """Where in a JSON text the value at `path` begins."""
    at = _skip(text, 0)
    for step in path:
        at = _within(text, at, step)
    return at


def _within(text: str, at: int, step: str | int) -> int:
    """Where the element `step` of the object or array at `at` begins.

    It is there: the text was read before.
    """
    decoder, named, count = json.JSONDecoder(), text[at] == "{", 0
    at = _skip(text, at + 1)
    while True:
        key: str | int = count
        if named:
            key, at = decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        if key == step:
            return at
        _, at = decoder.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        count += 1


def _skip(text: str, at: int) -> int:
    found = BLANKS.match(text, at)
    return found.end() if found else at
