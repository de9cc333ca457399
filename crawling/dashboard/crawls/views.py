"""The list of crawls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.vary import vary_on_headers

from crawling.crawls.saved_views import visible_views
from crawling.dashboard.base.chips import SPAN, chips_of
from crawling.dashboard.base.crawl_views import CrawlView
from crawling.dashboard.crawls.columns import COLUMNS, heads
from crawling.dashboard.crawls.listing import (
    CRAWLS_PER_PAGE,
    CrawlFilter,
    Listing,
    crawls_file,
    list_crawls,
)
from crawling.dashboard.run.rates import rates_now
from crawling.models import CrawlJob, Team
from crawling.runs.transitions import possible
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send
from serving.fragments import wants_fragment
from serving.list_choices import choices_of

#: what narrows the list, and its words
FILTERS = {"q": "Holds", "state": "State", "tag": "Tag", "owner": "Owner", "team": "Team", **SPAN}


class CrawlListRow(NamedTuple):
    """A crawl in the list, the buttons it has, and its pages a second."""

    crawl: CrawlJob
    view: CrawlView
    verbs: list[str]
    rate: float | None
    #: whether the rate is that of the last minutes (the crawl is at work) or the average
    is_now: bool

    @property
    def parameters(self) -> str:
        """The settings that are not as usual, in few words."""
        crawl = self.crawl
        depth = [f"{crawl.max_depth} deep"] if crawl.max_depth is not None else []
        workers = [f"{crawl.processes} workers"] if crawl.processes > 1 else []
        return ", ".join(
            [
                crawl.visit_order.replace("_", " "),
                f"{crawl.delay_seconds:g} s delay",
                *depth,
                *workers,
            ]
        )


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
@vary_on_headers("HX-Request")
def crawls(request: AuthenticatedRequest) -> HttpResponse:
    """List crawls as the address says; a refresh gets the part that changes."""
    wanted = CrawlFilter.read(request.GET)
    choices = choices_of(request)
    shown = choices.shown("crawls", COLUMNS)
    listing = list_crawls(wanted, most=choices.most(CRAWLS_PER_PAGE))
    facts = {
        "wanted": wanted,
        "listing": listing,
        "teams": Team.objects.filter(members=request.user),
        "rows": _rows(listing),
        "columns": heads(wanted, listing, shown),
        "shown": shown,
    }
    if wants_fragment(request):
        return render(request, "crawling/_crawls.html", facts)
    return render(
        request,
        "crawling/crawls.html",
        {
            **facts,
            "chips": chips_of(request.GET, FILTERS),
            "reset": reverse("crawling:crawls"),
            "views": visible_views(request.user),
        },
    )


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
def crawls_as_file(request: AuthenticatedRequest, kind: str) -> HttpResponseBase:
    """All that the list finds, in its order, as a table or a JSON object a line."""
    return send(crawls_file(CrawlFilter.read(request.GET), kind))


def _rows(listing: Listing) -> list[CrawlListRow]:
    now = rates_now(
        [view.run_id for _, view in listing.crawls if view.run_id and not view.is_at_rest]
    )
    return [_row(crawl, view, now) for crawl, view in listing.crawls]


def _row(crawl: CrawlJob, view: CrawlView, now: Mapping[int, float]) -> CrawlListRow:
    """The rate of a run at work is its present one, that of an ended run its average; a run that
    waits has none.
    """
    average = view.pages_per_second if view.finished_at else None
    rate = now.get(view.run_id, average) if view.run_id else None
    verbs = possible(view.state, queued=view.counts.queued)
    # Beside the gentler word the harder one only crowds the row; the crawl's page has both.
    return CrawlListRow(
        crawl,
        view,
        [verb for verb in verbs if verb != "abort" or "stop" not in verbs],
        rate,
        view.run_id in now,
    )
