"""Where pages of a crawl lead to its exports and to replay."""

from __future__ import annotations

from collections.abc import Callable

from django.urls import reverse

from crawling.dashboard.base.panels import Link, Place
from crawling.models import Page, Run


def _export(route: str) -> Callable[[Run | None, int], str]:
    """Only of crawls that keep an archive."""

    def address(run: Run | None, crawl: int) -> str:
        if run is None or not run.crawl.archive:
            return ""
        return f"{reverse(route, args=[crawl])}?run={run.number}"

    return address


def _replay(page: Page, crawl: int) -> str:
    if page.archive_file_id is None:
        return ""
    return f"{reverse('crawling:replay', args=[crawl])}?page={page.pk}"


LINKS = (
    Link(Place.PAGES, "WACZ file", _export("crawling:wacz")),
    Link(Place.PAGES, "Mirror", _export("crawling:mirror")),
    Link(Place.PAGE, "Replay", _replay, needs="crawling.change_crawljob", opens_window=True),
)
