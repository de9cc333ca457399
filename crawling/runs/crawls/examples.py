"""Examples: crawls of the demo web of this machine, which show new users the product at work."""

from __future__ import annotations

from django.conf import settings
from django.db.models import QuerySet

from crawling.models import CrawlJob

#: the address at which the demo web is served
DEMO_ADDRESS = "127.0.0.1"


def demo_address() -> str:
    """The common prefix of the demo web's addresses; "" if the demo web is switched off."""
    return f"http://{DEMO_ADDRESS}:{settings.DEMO_PORT}/" if settings.DEMO else ""


def is_example(crawl: CrawlJob) -> bool:
    """Whether the crawl is of the demo web, and no user has created it."""
    web = demo_address()
    is_by_none = crawl.created_by_id is None
    return bool(web and crawl.seeds) and is_by_none and crawl.seeds[0].startswith(web)


def crawls_without_example() -> QuerySet[CrawlJob]:
    """The crawls that are no examples."""
    web, crawls = demo_address(), CrawlJob.objects.all()
    return crawls.exclude(seeds__0__startswith=web, created_by=None) if web else crawls
