"""A page's request for a list, and the headings of its table."""

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
    #: the sort that a click on the heading selects; empty if the list cannot be sorted by this
    #: column
    sort: str
    is_sorted: bool
    is_number: bool


def asked_filters(request: HttpRequest, names: Iterable[str]) -> dict[str, str]:
    """The value of each filter in a page's address; empty if there is none."""
    return {name: asked_text(request.GET, name, most=LONGEST_FILTER) for name in names}


def asked_list(request: HttpRequest, rows: RowList[Row], ask: Ask, *, usual: int) -> dict[str, Any]:
    """The rows of a list that a page asks for, the cursor after which more follow, and what their
    table needs. A sort by a column that cannot be sorted by is ignored.

    usual: rows a page, unless the user has chosen another number. Raises BadListRequest, and the
    errors of `ask`.
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
