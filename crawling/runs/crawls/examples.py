"""Examples: crawls of the demo web of this machine, which show new users the product at work."""

from __future__ import annotations

from django.conf import settings
from django.db.models import QuerySet

from crawling.models import CrawlJob

#: the address at which the demo web is served
DEMO_ADDRESS = "127.0.0.1"


def demo_web() -> str:
    """The common prefix of the demo web's addresses; "" if the demo web is switched off."""
    return f"http://{DEMO_ADDRESS}:{settings.DEMO_PORT}/" if settings.DEMO else ""


def is_example(crawl: CrawlJob) -> bool:
    """Whether all of the crawl's seeds are on the demo web."""
    web = demo_web()
    return bool(web and crawl.seeds) and all(seed.startswith(web) for seed in crawl.seeds)


def own_crawls() -> QuerySet[CrawlJob]:
    """The crawls that do not begin on the demo web."""
    web = demo_web()
    return CrawlJob.objects.exclude(seeds__0__startswith=web) if web else CrawlJob.objects.all()
