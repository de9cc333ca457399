"""News about links that broke or were fixed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from crawling.base.alert_events import AlertEvent
from crawling.installation.news import KEPT, NewsItem, NewsSource, rows_of_shown_runs, shown_runs
from crawling.jobs.job_rows import visible_jobs
from crawling.models import CrawlJob, Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.link_check.coverage import coverages_of
from crawling.uses.link_check.jobs import BROKEN_LINKS
from crawling.uses.link_check.models import BrokenLinks
from crawling.uses.link_check.trend import links_page


def find_news(
    since: datetime, until: datetime | None, crawl: CrawlJob | None, most: int
) -> Iterator[NewsItem]:
    some = BrokenLinks.objects.filter(Q(new__gt=0) | Q(fixed__gt=0), found_at__gte=since)
    found = rows_of_shown_runs(some, crawl).select_related("run__crawl", "against")
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


def _runs_to_compare(crawl: CrawlJob | None) -> QuerySet[Run]:
    """Runs whose broken links are not counted: not yet, or because the job failed or was cancelled.
    A latest run is included even if its job is forgotten.
    """
    uncounted = Q(run__broken_links=None, run__state__in=ENDED_STATES)
    jobs = visible_jobs().filter(Q(ended_at=None) | uncounted, kind=BROKEN_LINKS.name)
    # a run that ended before the first count of its crawl has no counted run before it
    counted = BrokenLinks.objects.filter(run__crawl=OuterRef("crawl"))
    since = timezone.now() - KEPT
    latest = Run.objects.filter(is_latest=True, finished_at__gte=since, state__in=ENDED_STATES)
    forgotten = latest.filter(Exists(counted), broken_links=None)
    numbers = jobs.order_by().values("run").union(forgotten.order_by().values("pk"))
    return shown_runs(Run.objects.filter(pk__in=numbers), crawl).order_by("-finished_at")


def _broken_by_run(runs: Collection[int]) -> dict[int, str]:
    """`2 links are broken`, by the numbers of *Links*."""
    rows = BrokenLinks.objects.filter(run__in=runs).values_list("run", "broken")
    return {run: _broken_in_words(count) for run, count in rows}


def _broken_in_words(count: int) -> str:
    if not count:
        return "no link is broken"
    return f"{count:,} link{'s are' if count != 1 else ' is'} broken"


def _unchecked_by_run(runs: Collection[int]) -> dict[int, str]:
    found = coverages_of(Run.objects.filter(pk__in=runs).select_related("crawl"))
    return {run: one.numbers_in_words for run, one in found.items() if one.numbers_in_words}


NEWS = (NewsSource(find_news, _runs_to_compare, "broken links", _broken_by_run, _unchecked_by_run),)
