"""Rows of facts as the lines of a file: a table, or a JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any

from crawling.dashboard.base.spreadsheets import csv_lines

#: by kind of file its type
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def lines_of(rows: Iterable[dict[str, Any]], kind: str) -> Iterator[str]:
    """kind: one of TYPES. A table's columns are the first row's; without a row it is empty."""
    return (
        _as_csv(rows)
        if kind == "csv"
        else (json.dumps(row, ensure_ascii=False, default=_text) + "\n" for row in rows)
    )


def _as_csv(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    yield from csv_lines(tuple(first), (map(_cell, row.values()) for row in chain([first], rows)))


def _cell(value: Any) -> Any:
    return (
        " ".join(value)
        if isinstance(value, list)
        else _text(value)
        if isinstance(value, datetime)
        else value
    )


def _text(moment: datetime) -> str:
    return moment.isoformat()
