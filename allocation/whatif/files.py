"""A state as a file, in JSON or CSV, and back. Pure.

JSON is an object as `/api/v1/banker/check` takes it. CSV has a line for Available, and two for each
process:

process,kind,A,B
,available,3,2
P0,maximum,7,5
P0,allocation,0,1
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from allocation.rules.banker import State
from allocation.whatif.draft import read_units
from allocation.whatif.sandbox import Sandbox
from serving.row_lines import csv_lines

MOST_BYTES = 2_000_000
JSON_KEYS = ("classes", "available", "processes", "maximum", "allocation")
BLANKS = re.compile(r"[ \t\r\n]*")
JsonPath = tuple[str | int, ...]
CSV_HEADER = ["process", "kind"]
CsvLine = tuple[int, list[str]]


class BadFile(ValueError):
    """The message says where and why."""

    def __init__(self, sentence: str, line: int | None = None, column: int | None = None) -> None:
        self.line, self.column = line, column
        super().__init__(sentence if line is None else f"Line {line}, column {column}: {sentence}")


def built(
    classes: list[str],
    names: list[str],
    available: list[int],
    maximum: list[list[int]],
    allocation: list[list[int]],
) -> Sandbox:
    """The state of these parts, each of which is well formed.

    Raises BadFile if they do not go together.
    """
    try:
        return Sandbox(
            tuple(classes), tuple(names), State.from_arrays(available, maximum, allocation)
        )
    except ValueError as error:
        sentence = str(error).removesuffix(".")
        raise BadFile(f"{sentence[:1].upper()}{sentence[1:]}.") from error


def read_file(data: bytes) -> Sandbox:
    """The state in a JSON or CSV file. Raises BadFile."""
    if len(data) > MOST_BYTES:
        raise BadFile(f"The file has more than {MOST_BYTES // 1_000_000} MB; no state is so large.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_starts = data.rfind(b"\n", 0, error.start) + 1
        where = (data[: error.start].count(b"\n") + 1, error.start - line_starts + 1)
        raise BadFile("This is no text in UTF-8. Save it as UTF-8.", *where) from error
    if not text.strip():
        raise BadFile("The file is empty. Choose one that was exported here.")
    return from_json(text) if text.lstrip()[0] in "{[" else from_csv(text)


def to_json(sandbox: Sandbox) -> str:
    """An object as `/api/v1/banker/check` takes it, with a line for each process."""
    state = sandbox.state
    values = (sandbox.classes, state.available, sandbox.processes, state.maximum, state.allocation)
    return (
        "{\n"
        + ",\n".join(
            f"  {json.dumps(key)}: {_json_rows(value)}"
            for key, value in zip(JSON_KEYS, values, strict=True)
        )
        + "\n}\n"
    )


def _json_rows(value: Sequence[Any]) -> str:
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


def _mistakes(found: Any) -> Iterator[tuple[JsonPath, str]]:
    """The mistakes with their places, in an order in which each check may rely on those before
    it.
    """
    if not isinstance(found, dict):
        yield (), f"The whole is to be an object with {', '.join(JSON_KEYS)}."
        return
    for key in JSON_KEYS:
        if not isinstance(found.get(key), list):
            yield (key,) if key in found else (), f"“{key}” is to be a list."
            return
    for key in found:
        if key not in JSON_KEYS:
            yield (key,), f"“{key[:40]}” is not known here. Leave it out."
    yield from _name_mistakes(found)
    yield from _row_mistakes(("available",), found["available"], len(found["classes"]))
    for key in ("maximum", "allocation"):
        for i, row in enumerate(found[key]):
            yield from _row_mistakes((key, i), row, len(found["classes"]))
    yield from _held_too_much(found["maximum"], found["allocation"])


def _name_mistakes(found: dict[str, Any]) -> Iterator[tuple[JsonPath, str]]:
    for key in ("classes", "processes"):
        for i, name in enumerate(found[key]):
            if not isinstance(name, str):
                yield (key, i), f"{key}[{i}] is to be a name in quotes."


def _held_too_much(
    maximum: list[list[int]], allocation: list[list[int]]
) -> Iterator[tuple[JsonPath, str]]:
    for i, (most, held) in enumerate(zip(maximum, allocation, strict=False)):
        for j, (a, b) in enumerate(zip(held, most, strict=True)):
            if a > b:
                yield (
                    ("allocation", i, j),
                    f"allocation[{i}][{j}] is {a}, more than the maximum {b}.",
                )


def _row_mistakes(path: JsonPath, row: Any, length: int) -> Iterator[tuple[JsonPath, str]]:
    name = str(path[0]) + "".join(f"[{i}]" for i in path[1:])
    if not isinstance(row, list) or len(row) != length:
        yield path, f"{name} is to be a list of {length} numbers, one for each class."
        return
    for j, units in enumerate(row):
        if type(units) is not int or units < 0:
            yield (*path, j), f"{name}[{j}] is to be a whole number from 0 up."


def _position(text: str, path: JsonPath) -> int:
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


def to_csv(sandbox: Sandbox) -> str:
    state = sandbox.state
    columns = [*CSV_HEADER, *map(_guarded, sandbox.classes)]
    rows: list[list[object]] = [["", "available", *state.available]]
    for name, most, held in zip(sandbox.processes, state.maximum, state.allocation, strict=True):
        rows.append([_guarded(name), "maximum", *most])
        rows.append([_guarded(name), "allocation", *held])
    return "".join(csv_lines(columns, rows))


def from_csv(text: str) -> Sandbox:
    """Raises BadFile."""
    lines = _csv_rows(text)
    number, header = next(lines, (1, []))
    if header[:2] != CSV_HEADER:
        raise BadFile(
            f"The first line is to begin with {','.join(CSV_HEADER)}, and then name the classes.",
            number,
            1,
        )
    classes = header[2:]
    _, available = _expect(lines, "available", classes, name="")
    names: list[str] = []
    maximum, allocation = [], []
    for line in lines:
        name, most = _row(line, "maximum", classes, name=None)
        _, held = _expect(lines, "allocation", classes, name=name)
        for j, (a, b) in enumerate(zip(held, most, strict=True)):
            if a > b:
                raise BadFile(
                    f"{_bare(name)} holds {a} of {_bare(classes[j])}, more than its maximum {b}.",
                    line[0] + 1,
                    j + 3,
                )
        names.append(_bare(name))
        maximum.append(most)
        allocation.append(held)
    return built([_bare(name) for name in classes], names, available, maximum, allocation)


def _csv_rows(text: str) -> Iterator[CsvLine]:
    """The lines that say something, each with its number."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if any(cells):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise BadFile(f"This is no CSV: {error}.", reader.line_num, 1) from error


def _expect(
    lines: Iterator[CsvLine], kind: str, classes: list[str], *, name: str | None
) -> tuple[str, list[int]]:
    try:
        line = next(lines)
    except StopIteration as error:
        whose = f" of {_bare(name)}" if name else ""
        raise BadFile(
            f"The file ends before the line {kind}{whose}. Perhaps it was cut off."
        ) from error
    return _row(line, kind, classes, name=name)


def _row(
    line: CsvLine, kind: str, classes: list[str], *, name: str | None
) -> tuple[str, list[int]]:
    number, cells = line
    if name is not None and cells[0] != name:
        raise BadFile(
            f"Here {f'the process {_bare(name)}' if name else 'an empty cell'} is expected, not "
            f"“{cells[0][:40]}”.",
            number,
            1,
        )
    if cells[1:2] != [kind]:
        raise BadFile(f"Here “{kind}” is expected, not “{''.join(cells[1:2])[:40]}”.", number, 2)
    if len(cells) != len(classes) + 2:
        raise BadFile(
            f"{len(cells) - 2} numbers for {len(classes)} classes. Enter one for each.",
            number,
            min(len(cells), len(classes) + 2),
        )
    units = []
    for column, cell in enumerate(cells[2:], start=3):
        try:
            units.append(read_units(cell))
        except ValueError as error:
            raise BadFile(f"{_bare(classes[column - 3])}: {error}", number, column) from error
    return cells[0], units


def _guarded(name: str) -> str:
    """One `'` more in front of what begins with one, since reading takes one off, as it takes off
    the one of a formula.
    """
    return f"'{name}" if name.startswith("'") else name


def _bare(name: str) -> str:
    return name.removeprefix("'")
