"""Rows of facts as the lines of a file, made one by one: a table for spreadsheets, JSON objects, or
a JSON array. Pure.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from io import StringIO
from itertools import chain
from typing import Any

#: The signs with which a formula begins (OWASP, CSV Injection), also in full width; blanks before
#: them do not help.
SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:[.,][0-9]{1,40})?(?:[eE][+-]?[0-9]{1,4})?")


def is_formula(text: str) -> bool:
    """Whether a spreadsheet could take the text for a formula; a plain number is not one."""
    if text[:1] in ("\t", "\r", "\n"):
        return True
    return text.lstrip().startswith(SIGNS) and NUMBER.fullmatch(text.strip()) is None


def guarded_cell(cell: Any) -> Any:
    """The cell, with an apostrophe in front of a text that could be taken for a formula."""
    return f"'{cell}" if isinstance(cell, str) and is_formula(cell) else cell


def csv_lines(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """A line for the columns and one for each row, every cell guarded."""
    line = StringIO()
    writer = csv.writer(line)
    for cells in chain([columns], rows):
        writer.writerow(map(guarded_cell, cells))
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def lines_of(
    rows: Iterable[Mapping[str, Any]], kind: str, columns: Sequence[str] = ()
) -> Iterator[str]:
    """The rows as `csv`, `jsonl` (an object a line) or `json` (one array), times in ISO 8601.

    columns: the columns of a table; by default those of the first row, and then a table without
    rows is empty.
    """
    if kind == "csv":
        return _table(rows, columns)
    return _array(rows) if kind == "json" else (f"{_json_object(row)}\n" for row in rows)


def _table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    rows = iter(rows)
    if not columns:
        first = next(rows, None)
        if first is None:
            return
        columns, rows = tuple(first), chain([first], rows)
    yield from csv_lines(columns, (map(_cell_value, row.values()) for row in rows))


def _array(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    before = "["
    for row in rows:
        yield f"{before}\n{_json_object(row)}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def _json_object(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, default=datetime.isoformat)


def _cell_value(value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(value)
    return value.isoformat() if isinstance(value, datetime) else value
