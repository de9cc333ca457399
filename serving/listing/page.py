"""The request of a page for a list, and the heads of its table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from django.http import HttpRequest

from serving.list_choices import choices_of
from serving.listing.row_list import Ask, RowList
from serving.requests import asked_text

Row = TypeVar("Row")
LONGEST_FILTER, LONGEST_CURSOR = 300, 5000


class ListHead(NamedTuple):
    label: str
    #: the sort of a click; empty if the list cannot be sorted by it
    sort: str
    is_sorted: bool
    is_number: bool


def asked_filters(request: HttpRequest, names: Iterable[str]) -> dict[str, str]:
    """The values of each filter in a page's address; empty for none."""
    return {name: asked_text(request.GET, name, most=LONGEST_FILTER) for name in names}


def asked_list(request: HttpRequest, rows: RowList[Row], ask: Ask, *, usual: int) -> dict[str, Any]:
    """The rows of a list that a page asks for, the cursor behind which more follow, and what their
    table needs. A column that the list cannot be sorted by counts as not given.

    usual: rows a page, unless the user has chosen otherwise. Raises BadListRequest, and what `ask`
    raises.
    """
    sort = request.GET.get("sort", "")
    sort = sort if sort in rows.sorts else rows.first_sort
    wanted = asked_filters(request, (one.name for one in rows.filters))
    after = asked_text(request.GET, "after", most=LONGEST_CURSOR)
    most = choices_of(request).most(usual)
    found, following = rows.page(ask, wanted, sort=sort, after=after, most=most)
    columns = rows.columns
    heads = [
        ListHead(
            columns[name].label,
            name if columns[name].told.sorts else "",
            name == sort,
            columns[name].is_number and not columns[name].told.is_text,
        )
        for name in rows.shown
    ]
    sorts = [(name, columns[name].label) for name in rows.sorts if name]
    return {"rows": found, "following": following, "heads": heads, "sort": sort, "sorts": sorts}
