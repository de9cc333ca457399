"""Heads of tables that sort by a click, with what is sorted by in the address."""

from __future__ import annotations

from typing import NamedTuple


class ColumnHead(NamedTuple):
    """A column's head."""

    label: str
    #: what a click asks for; empty if the column cannot be sorted by
    sort: str
    #: how the rows are sorted by it now
    order: str
    is_number: bool


def column(
    key: str, label: str, is_number: bool, *, now: str, falls_first: bool = False
) -> ColumnHead:
    """The head of the column `key`, where the rows are sorted by `now`; the first click may ask for
    the largest first.
    """
    if not key:
        return ColumnHead(label, "", "", is_number)
    first, second = (f"-{key}", key) if falls_first else (key, f"-{key}")
    order = {key: "ascending", f"-{key}": "descending"}.get(now, "")
    return ColumnHead(label, second if now == first else first, order, is_number)
