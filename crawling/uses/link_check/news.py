"""Links that broke or were fixed, as news."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q, QuerySet

from crawling.base.alert_events import AlertEvent
from crawling.installation.news import NewsItem, NewsSource, of_shown_runs, shown_runs
from crawling.jobs.job_rows import open_jobs
from crawling.models import CrawlJob, Run
from crawling.uses.link_check.jobs import BROKEN_LINKS
from crawling.uses.link_check.models import BrokenLinks
from crawling.uses.link_check.trend import links_page


def find_news(
    since: datetime, until: datetime | None, crawl: CrawlJob | None, most: int
) -> Iterator[NewsItem]:
    some = BrokenLinks.objects.filter(Q(new__gt=0) | Q(fixed__gt=0), found_at__gte=since)
    found = of_shown_runs(some, crawl).select_related("run__crawl", "against")
    found = found if until is None else found.filter(found_at__lte=until)
    for row in found.order_by("-found_at")[:most]:
        for kind, count, change in (
            (AlertEvent.LINKS_BROKEN, row.new, "new"),
            (AlertEvent.LINKS_FIXED, row.fixed, "mended"),
        ):
            if count:
                address, crawl_of = links_page(row, change), row.run.crawl
                yield NewsItem(
                    row.found_at, crawl_of.pk, crawl_of.name, row.run.number, kind, count, address
                )


def _pending(crawl: CrawlJob | None) -> QuerySet[Run]:
    jobs = open_jobs().filter(kind=BROKEN_LINKS.name)
    runs = shown_runs(Run.objects.filter(pk__in=jobs.values("run")), crawl)
    return runs.order_by("-finished_at")


NEWS = (NewsSource(find_news, _pending, "broken links"),)
