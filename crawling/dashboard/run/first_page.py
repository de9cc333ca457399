"""The page that is shown first for a crawl, by its purpose."""

from __future__ import annotations

from collections.abc import Mapping

from django.urls import NoReverseMatch, reverse

from crawling.models import CrawlJob, Run
from crawling.models.jobs import RunState
from crawling.orders.purposes import Purpose

#: the route of the page for each purpose; the last two belong to uses of crawls
FIRST: Mapping[str, str] = {
    Purpose.ARCHIVE: "pages",
    Purpose.DATA: "extracted",
    Purpose.LINKS: "links",
}


def results_address(crawl: CrawlJob, run: Run | None) -> str:
    """The address of the page with the results for which the crawl was made. Empty if the overview
    says more, because the run works or has failed, or if the crawl has no purpose.
    """
    if run is None or run.state != RunState.FINISHED or crawl.purpose not in FIRST:
        return ""
    try:
        return reverse(f"crawling:{FIRST[crawl.purpose]}", args=[crawl.pk])
    except NoReverseMatch:
        return ""
