"""A run's pages, with a filter and a sort column, one page of the list at a time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from operator import attrgetter

from django.db.models import BooleanField, F, Func, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThan, LessThan

from crawling.base.timed import time_limit
from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.pages.page_kinds import kind_of_page
from crawling.frontier import counts_of
from crawling.models import Page, Run, WithdrawnPage
from serving.paging import BoundedCount, bounded_count

#: key and head of the columns that a user may hide; title, address and status are always shown
HIDEABLE = {"picture": "Picture", "type": "Type", "size": "Size", "fetched": "Fetched"}
#: sort keys of pages, each unique for each page and with an index
SORTS: dict[str, tuple[str, ...]] = {
    "fetched": ("fetched_at", "url_id"),
    "status": ("status", "fetched_at", "url_id"),
    "type": ("kind", "fetched_at", "url_id"),
    "size": ("bytes", "url_id"),
}
LATEST_FIRST = "-fetched"
#: the words for ascending and descending order by each key; the usual order comes first
SORT_WORDS = {
    LATEST_FIRST: "latest first",
    "fetched": "oldest first",
    "-status": "highest status first",
    "status": "lowest status first",
    "-size": "largest first",
    "size": "smallest first",
    "type": "by type",
    "-type": "by type, backwards",
}


@dataclass(frozen=True)
class PageWindow:
    pages: Sequence[Page] = ()
    #: the id after which the next page of the list begins; None on the last page
    following: int | None = None
    #: the id before which the previous page ends; None on the first page
    preceding: int | None = None

    @property
    def has_pictures(self) -> bool:
        return any(page.has_picture for page in self.pages)


def pages_of(
    run: Run,
    wanted: PageFilter,
    *,
    most: int,
    sort: str = LATEST_FIRST,
    after: int | None = None,
    before: int | None = None,
) -> PageWindow:
    """The pages that match the filter, after the page with the id `after` or just before the page
    with the id `before`. Unknown ids are ignored.

    Raises SearchTookTooLong.
    """
    number = after if before is None else before
    end = _sortable_pages(run).filter(pk=number).first() if number is not None else None
    is_backward, columns = before is not None and end is not None, SORTS[sort.lstrip("-")]
    falls = sort.startswith("-") != is_backward
    order = [F(name).desc() if falls else F(name).asc() for name in columns]
    found: list[Page] = []
    # without a filter an index has the pages in order
    with time_limit() if wanted else nullcontext():
        for part in wanted.parts(run):
            part = part.annotate(kind=kind_of_page()).select_related("url")
            part = part.filter(_rows_after(end, columns, falls=falls)) if end else part
            found += part.order_by(*order)[: most + 1]
    found.sort(key=attrgetter(*columns), reverse=falls)
    shown, is_more = found[:most], len(found) > most
    if is_backward:
        shown.reverse()
    first, last = (shown[0].pk, shown[-1].pk) if shown else (None, None)
    return PageWindow(
        shown,
        following=last if is_more or is_backward else None,
        preceding=first if (is_more if is_backward else end is not None) else None,
    )


def _sortable_pages(run: Run) -> QuerySet[Page]:
    return Page.objects.filter(run=run).annotate(kind=kind_of_page())


def _rows_after(end: Page, columns: Sequence[str], *, falls: bool) -> GreaterThan | LessThan:
    """The condition for rows after `end`. It compares rows, so that an index can begin there
    however many pages have the same status.
    """
    ends = [Value(getattr(end, name)) for name in columns]
    return (LessThan if falls else GreaterThan)(_row(*map(F, columns)), _row(*ends))


def _row(*parts: Combinable) -> Func:
    return Func(*parts, function="ROW", output_field=BooleanField())


def page_count(run: Run, wanted: PageFilter) -> int:
    """The number of pages. With a filter, a BoundedCount if there are very many. Raises
    SearchTookTooLong.
    """
    if not wanted:
        counted = bounded_count(Page.objects.filter(run=run))
        if not isinstance(counted, BoundedCount):
            return counted
        withdrawn = WithdrawnPage.objects.filter(run=run).count()
        return max(counted, counts_of([run.pk])[run.pk].fetched - withdrawn)
    with time_limit():
        counts = [bounded_count(part) for part in wanted.parts(run)]
    return (BoundedCount if any(isinstance(one, BoundedCount) for one in counts) else int)(
        sum(counts)
    )
