"""Crawls, their runs and their pages by number."""

from __future__ import annotations

from crawling.errors import NotFound, UnknownCrawl, UnknownRun
from crawling.models import CrawlJob, Page, Run


def get_crawl(crawl_id: int) -> CrawlJob:
    """Raises UnknownCrawl."""
    crawl = CrawlJob.objects.filter(pk=crawl_id).first()
    if crawl is None:
        raise UnknownCrawl(f"There is no crawl {crawl_id}.")
    return crawl


def get_run(crawl_id: int, number: int | None) -> Run:
    """The run of that number, or the latest. Raises UnknownCrawl, UnknownRun."""
    runs = Run.objects.select_related("crawl").filter(crawl=get_crawl(crawl_id))
    run = (runs if number is None else runs.filter(number=number)).order_by("-pk").first()
    if run is None:
        raise UnknownRun(
            f"Crawl {crawl_id} has "
            f"{'never been started' if number is None else f'no run {number}'}."
        )
    return run


def get_page(crawl_id: int, page_id: int) -> Page:
    """A page of any of the crawl's runs, with what its archive file is found by.

    Raises NotFound.
    """
    page = (
        Page.objects.select_related("url", "run__crawl", "archive_file")
        .filter(pk=page_id, run__crawl=crawl_id, run__removal_asked_at=None)
        .first()
    )
    if page is None:
        raise NotFound(f"Crawl {crawl_id} has no page {page_id}.")
    return page
