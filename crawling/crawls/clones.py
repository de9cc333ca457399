"""Make a crawl like another one."""

from __future__ import annotations

from itertools import count
from typing import Any

from django.contrib.auth.models import User

from crawling.crawls.creation import create_crawl
from crawling.crawls.fetching_section import fetching_of, shown
from crawling.crawls.tags import set_tags
from crawling.models import CrawlJob
from crawling.orders.order import COLUMNS, PARTS

LONGEST_NAME = 100


def order_of(crawl: CrawlJob) -> dict[str, Any]:
    """The order that would make this crawl: the fields of `crawling.orders.order`, secrets
    masked."""
    order = {name: getattr(crawl, name) for name in COLUMNS}
    order |= {"order": crawl.visit_order, "claim": dict(crawl.claim), **shown(crawl)}
    for column, part in PARTS.items():
        # an order may be older than a field of its part
        order |= part().model_dump() | getattr(crawl, column)
    return order


def clone_crawl(crawl: CrawlJob, *, name: str | None = None, by: User | None = None) -> CrawlJob:
    """Make a draft of the same order with its secrets and tags, checked as it stands today.

    Raises BadOrder and SealBroken.
    """
    copy = create_crawl(
        {
            **order_of(crawl),
            **fetching_of(crawl).model_dump(),
            "name": name or _free_name(crawl.name),
        },
        by=by,
    )
    return set_tags(copy, crawl.tags, by=by)


def _free_name(name: str) -> str:
    """`NAME copy`, or with the first number that is free; cut where it would be too long."""
    stem = name[: LONGEST_NAME - len(" copy 9999")]
    taken = set(
        CrawlJob.objects.filter(name__startswith=f"{stem} copy").values_list("name", flat=True)
    )
    copies = (f"{stem} copy" if number == 1 else f"{stem} copy {number}" for number in count(1))
    return next(copy for copy in copies if copy not in taken)
