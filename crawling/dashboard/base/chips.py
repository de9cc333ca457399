"""What narrows a list, one by one, each with the address of the list without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from django.http import QueryDict

#: the parameters of the current page of a list; another filter begins at the first page
PLACES = ("after", "before")
SPAN = {"since": "Since", "until": "Before"}


class FilterChip(NamedTuple):
    """One filter of a list."""

    label: str
    value: str
    #: of the list without it
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
