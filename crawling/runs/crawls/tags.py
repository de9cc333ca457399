"""Add and remove tags of crawls."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.contrib.auth.models import User
from django.db import transaction

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder
from crawling.models import CrawlJob
from crawling.orders.seeds import BadTags, read_tags


@transaction.atomic
def tag_crawls(
    crawls: Collection[int],
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    by: User | None = None,
) -> int:
    """Add and remove tags of the crawls with these ids. Return the number of changed crawls.

    Raises BadOrder if a crawl would have too many tags.
    """
    changed = 0
    for crawl in (
        CrawlJob.objects.select_for_update(no_key=True).filter(pk__in=crawls).order_by("pk")
    ):
        changed += _store_tags(crawl, ({*crawl.tags} | {*add}) - {*remove}, by)
    return changed


@transaction.atomic
def set_tags(crawl: CrawlJob, tags: Collection[str], *, by: User | None = None) -> CrawlJob:
    """Set the crawl's tags. Raises BadOrder."""
    crawl = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl.pk)
    _store_tags(crawl, tags, by)
    return crawl


def _store_tags(crawl: CrawlJob, tags: Collection[str], by: User | None) -> bool:
    try:
        wanted = read_tags(",".join(tags))
    except BadTags as error:
        raise BadOrder({"tags": f"{crawl.name}: {error}"}) from error
    if wanted == crawl.tags:
        return False
    record_action(by, crawl, "tagged", {"tags": (crawl.tags, wanted)})
    crawl.tags = wanted
    crawl.save(update_fields=["tags"])
    return True
