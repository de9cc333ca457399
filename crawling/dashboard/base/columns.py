"""Column heads that sort a table by a click, with the sort key in the address. Also the filters of
a list, each with the address of the list without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from django.http import QueryDict

from serving.paging import BoundedCount

#: the parameters for the place in a list; a list with another filter starts at its beginning
PLACES = ("after", "before", "page")
NO_WORDS: Mapping[str, Mapping[str, str]] = {}
SPAN = {"since": "Since", "until": "Before"}


class ColumnHead(NamedTuple):
    label: str
    #: the sort that a click requests; empty if the rows cannot be sorted by this column
    sort: str
    #: the current order of the rows by this column
    order: str
    is_number: bool


def column_head(
    key: str, label: str, is_number: bool, *, now: str, falls_first: bool = False
) -> ColumnHead:
    """The head of the column `key`. now: the current sort key. falls_first: whether the first click
    requests descending order.
    """
    if not key:
        return ColumnHead(label, "", "", is_number)
    first, second = (f"-{key}", key) if falls_first else (key, f"-{key}")
    order = {key: "ascending", f"-{key}": "descending"}.get(now, "")
    return ColumnHead(label, second if now == first else first, order, is_number)


class ListPlace(NamedTuple):
    """The rows of a list that a page shows."""

    page: int
    first: int
    shown: int
    #: the number of all rows; a BoundedCount if they are very many
    total: int

    @property
    def total_words(self) -> str:
        return f"{self.total:,}"

    @property
    def words(self) -> str:
        """The range as `101–200 of 1,234`. If the list has grown since it was counted, the total is
        at least the last row shown.
        """
        last = self.first + self.shown - 1
        total = self.total if isinstance(self.total, BoundedCount) else max(self.total, last)
        return f"{self.first:,}–{last:,} of {total:,}"


class FilterChip(NamedTuple):
    label: str
    value: str
    #: the address of the list without this filter
    address: str


def chips_of(
    query: QueryDict, labels: Mapping[str, str], words: Mapping[str, Mapping[str, str]] = NO_WORDS
) -> list[FilterChip]:
    """The filters in an address that have a label. words: the words for values, by the filter's
    name.
    """
    return [
        FilterChip(
            label,
            words.get(name, {}).get(text) or _value(name, text),
            _address_without(query, name),
        )
        for name, label in labels.items()
        if (text := str(query.get(name, "")))
    ]


def _value(name: str, text: str) -> str:
    return text.replace("T", " ") if name in SPAN else text


def _address_without(query: QueryDict, name: str) -> str:
    rest = query.copy()
    for gone in (name, *PLACES):
        rest.pop(gone, None)
    return f"?{rest.urlencode()}"
