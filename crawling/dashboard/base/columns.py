"""Heads of tables that sort by a click, with what is sorted by in the address; and what narrows a
list, one by one, each with the address of the list without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from django.http import QueryDict

#: the parameters of the current page of a list; another filter begins at the first page
PLACES = ("after", "before")
SPAN = {"since": "Since", "until": "Before"}


class ColumnHead(NamedTuple):
    label: str
    #: the sort that a click asks for; empty if the column cannot be sorted by
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


class FilterChip(NamedTuple):
    label: str
    value: str
    #: the address of the list without it
    address: str


def chips_of(query: QueryDict, labels: Mapping[str, str]) -> list[FilterChip]:
    """The filters that an address asks for, of those with a label."""
    return [
        FilterChip(label, text.replace("T", " ") if name in SPAN else text, _without(query, name))
        for name, label in labels.items()
        if (text := str(query.get(name, "")))
    ]


def _without(query: QueryDict, name: str) -> str:
    rest = query.copy()
    for gone in (name, *PLACES):
        rest.pop(gone, None)
    return f"?{rest.urlencode()}"
