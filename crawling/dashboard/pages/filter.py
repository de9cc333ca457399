"""The filter of a run's pages, for their page, their lists and their downloads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from crawling.dashboard.base.time_range import ALWAYS, TimeRange
from crawling.dashboard.pages.page_kinds import PageKind, kind_of_page
from crawling.dashboard.pages.rendering_filter import RenderingFilter
from crawling.models import ExtractedRow, Page, Run
from serving.requests import asked_text

#: the number of pages read at a time; the first read is small, so that a file begins to load soon
CHUNK, FIRST_CHUNK = 500, 100
REDIRECTS = (300, 399)
STATUS = re.compile(r"[1-9]\d\d|[1-9]xx")


@dataclass(frozen=True)
class PageFilter:
    #: a part of the address or title, ignoring case; empty for any
    text: str = ""
    #: `404`, or `4xx` for a whole class; empty for any
    status: str = ""
    #: the time of the fetch
    span: TimeRange = ALWAYS
    #: whether only pages are found that were not completely read
    is_unread: bool = False
    #: a PageKind; empty for any
    kind: str = ""
    #: whether only pages are found on which an extraction rule found something
    has_fields: bool = False
    #: a RenderingFilter; empty for any
    rendering: str = ""

    def __bool__(self) -> bool:
        is_said = self.text or self.status or self.span or self.is_unread or self.kind
        return bool(is_said or self.has_fields or self.rendering)

    def of(self, run: Run) -> QuerySet[Page]:
        """The run's pages that match, in no order."""
        found = self._narrowed(run)
        return (
            found.filter(Q(url__url__icontains=self.text) | Q(title__icontains=self.text))
            if self.text
            else found
        )

    def parts(self, run: Run) -> list[QuerySet[Page]]:
        """The matching pages in disjoint parts. An index serves each part.

        The index `pages_by_words` has the addresses of all pages except redirects. These are few
        and are searched one by one.
        """
        found = self._narrowed(run)
        if not self.text:
            return [found]
        is_redirect, has_title = Q(status__range=REDIRECTS), Q(title__icontains=self.text)
        return [
            found.filter(Q(final_url__icontains=self.text) & ~is_redirect | has_title),
            found.filter(is_redirect, url__url__icontains=self.text).exclude(has_title),
        ]

    def _narrowed(self, run: Run) -> QuerySet[Page]:
        found = Page.objects.filter(self.span.of("fetched_at"), run=run)
        found = found.exclude(unread="") if self.is_unread else found
        if self.rendering:
            found = found.filter(RenderingFilter(self.rendering).condition)
        if self.has_fields:
            found = found.filter(Exists(ExtractedRow.objects.filter(run=run, url=OuterRef("pk"))))
        found = (
            found.alias(its_kind=kind_of_page()).filter(its_kind=self.kind) if self.kind else found
        )
        if self.status.endswith("xx"):
            return found.filter(
                status__range=(int(self.status[0]) * 100, int(self.status[0]) * 100 + 99)
            )
        return found.filter(status=int(self.status)) if self.status else found


def requested_page_filter(request: HttpRequest) -> PageFilter:
    """Return the filter given by `?q=`, `?status=`, `?type=`, `?since=`, `?until=`, `?unread=1` and
    `?rendering=`.

    Invalid values are ignored.
    """
    status, kind, rendering = (
        request.GET.get(name, "") for name in ("status", "type", "rendering")
    )
    return PageFilter(
        asked_text(request.GET, "q"),
        status if STATUS.fullmatch(status) else "",
        TimeRange.read(request.GET),
        is_unread=request.GET.get("unread") == "1",
        kind=kind if kind in PageKind.values else "",
        rendering=rendering if rendering in RenderingFilter.values else "",
    )


def in_time(pages: QuerySet[Page], *, after: tuple[datetime, int] | None = None) -> Iterator[Page]:
    """All found pages in the order of their fetches, each with its URL and archive file. Only a
    bounded number is in memory. after: the time of a fetch and the id of its page; the pages after
    it are returned, even if that page no longer exists.

    They are read by keys, so that a slow client keeps no transaction or cursor open.
    """
    ordered = pages.select_related("url", "run__crawl", "archive_file").order_by(
        "fetched_at", "url_id"
    )
    chunk = list((ordered.filter(_is_after(*after)) if after else ordered)[:FIRST_CHUNK])
    while chunk:
        yield from chunk
        chunk = list(ordered.filter(_is_after(chunk[-1].fetched_at, chunk[-1].pk))[:CHUNK])


def _is_after(fetched_at: datetime, url_id: int) -> Q:
    """The condition on pages after a place. By its first part PostgreSQL finds the place in the
    index.
    """
    return Q(fetched_at__gte=fetched_at) & (Q(fetched_at__gt=fetched_at) | Q(url_id__gt=url_id))
