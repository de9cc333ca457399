"""A state as CSV, and back: a line for Available, and two for each process. Pure.

process,kind,A,B
,available,3,2
P0,maximum,7,5
P0,allocation,0,1
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from allocation.whatif.bad_file import BadFile, built
from allocation.whatif.draft_reading import read_units
from allocation.whatif.sandbox import Sandbox
from serving.row_lines import csv_lines

HEADER = ["process", "kind"]
Line = tuple[int, list[str]]


def to_csv(sandbox: Sandbox) -> str:
    state = sandbox.state
    columns = [*HEADER, *map(_guarded, sandbox.classes)]
    rows: list[list[object]] = [["", "available", *state.available]]
    for name, most, held in zip(sandbox.processes, state.maximum, state.allocation, strict=True):
        rows.append([_guarded(name), "maximum", *most])
        rows.append([_guarded(name), "allocation", *held])
    return "".join(csv_lines(columns, rows))


def from_csv(text: str) -> Sandbox:
    """Raises BadFile."""
    lines = _lines(text)
    number, header = next(lines, (1, []))
    if header[:2] != HEADER:
        raise BadFile(
            f"The first line is to begin with {','.join(HEADER)}, and then name the classes.",
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


def _lines(text: str) -> Iterator[Line]:
    """The lines that say something, each with its number."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if any(cells):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise BadFile(f"This is no CSV: {error}.", reader.line_num, 1) from error


def _expect(
    lines: Iterator[Line], kind: str, classes: list[str], *, name: str | None
) -> tuple[str, list[int]]:
    try:
        line = next(lines)
    except StopIteration as error:
        whose = f" of {_bare(name)}" if name else ""
        raise BadFile(
            f"The file ends before the line {kind}{whose}. Perhaps it was cut off."
        ) from error
    return _row(line, kind, classes, name=name)


def _row(line: Line, kind: str, classes: list[str], *, name: str | None) -> tuple[str, list[int]]:
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
