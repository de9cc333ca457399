"""The requests that the page cache has saved, and the pages that several crawls request most at the
moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.db.models import Sum
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from crawling.frontier.rules.hotspots import decayed_count
from crawling.models import HotPage, Run, RunTotal
from serving.access import AuthenticatedRequest, authenticated
from serving.listing.columns import Column


@dataclass(frozen=True)
class PopularPage:
    url: str
    count: Annotated[float, Column("recent requests; the count halves every hour")]
    wanted: Annotated[int, Column("requests while another crawl's fetch was fresh")]
    reused: Annotated[
        int,
        Column("requests that reused it; otherwise the server forbade it, or the copy was deleted"),
    ]
    wanted_at: datetime


@dataclass(frozen=True)
class PageCache:
    """The figures of the page cache, over all runs of crawls that may reuse pages."""

    crawls: int
    answers: int
    #: the number of answers taken from other crawls; each of them saved a request
    saved: int
    hot: Sequence[PopularPage]

    @property
    def hit_rate(self) -> float:
        return self.saved / self.answers if self.answers else 0.0


def page_cache(*, most: int) -> PageCache:
    """The figures of the cache, and its `most` hottest pages, the most requested first."""
    reusing = Run.objects.filter(crawl__reuse__reuse_seconds__gt=0)
    sums = RunTotal.objects.filter(run__in=reusing).aggregate(
        answers=Sum("fetched"), saved=Sum("reused")
    )
    now = timezone.now().timestamp()
    rows = HotPage.objects.order_by("-heat", "pk")[:most]
    return PageCache(
        crawls=reusing.values("crawl").distinct().count(),
        answers=int(sums["answers"] or 0),
        saved=int(sums["saved"] or 0),
        hot=[
            PopularPage(
                row.url,
                round(decayed_count(row.heat, now), 2),
                row.wanted,
                row.reused,
                row.wanted_at,
            )
            for row in rows
        ],
    )


MOST = 50


@authenticated(needs="crawling.view_crawljob")
def show(request: AuthenticatedRequest) -> HttpResponse:
    return render(request, "crawling/page_cache.html", {"cache": page_cache(most=MOST)})
