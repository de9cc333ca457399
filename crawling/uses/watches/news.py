"""The findings of watches as news."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Exists, Max, OuterRef, QuerySet

from crawling.base.alert_events import AlertEvent
from crawling.installation.news import NewsItem, NewsSource, rows_of_shown_runs, shown_runs
from crawling.models import CrawlJob, Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.watches.models import PageEvent, Watch, WatchEvent

WATCHES_PAGE = "/crawls/{}/watches/"
#: the kind of alert and of news for each kind of finding
TOLD_AS = {
    PageEvent.CHANGED: AlertEvent.PAGE_CHANGED,
    PageEvent.GONE: AlertEvent.PAGE_GONE,
    PageEvent.NEW: AlertEvent.PAGE_NEW,
}


def find_news(
    since: datetime, until: datetime | None, crawl: CrawlJob | None, most: int
) -> Iterator[NewsItem]:
    """The findings as news. A page that several watches cover counts once."""
    some = WatchEvent.objects.filter(found_at__gte=since, watch__removal_asked_at=None)
    found = rows_of_shown_runs(some, crawl)
    names = ("run__crawl", "run__crawl__name", "run__number", "kind")
    rows = found.order_by().values(*names).annotate(at=Max("found_at"))
    rows = rows.annotate(pages=Count("fingerprint", distinct=True)).order_by("-at")
    rows = rows if until is None else rows.filter(at__lte=until)
    for pk, name, number, kind, at, pages in rows.values_list(*names, "at", "pages")[:most]:
        address = WATCHES_PAGE.format(pk)
        yield NewsItem(at, pk, name, number, TOLD_AS[PageEvent(kind)], pages, address)


def pending_runs(crawl: CrawlJob | None) -> QuerySet[Run]:
    """Runs with which at least one watch has not been compared."""
    watches = Watch.objects.filter(crawl=OuterRef("crawl"))
    due = Exists(watches.filter(compared_until__lt=OuterRef("finished_at")))
    # the database begins with the watched crawls, which are few
    watched = Watch.objects.values("crawl")
    runs = Run.objects.filter(due, crawl__in=watched, state__in=ENDED_STATES)
    return shown_runs(runs, crawl).order_by("-finished_at")


NEWS = (NewsSource(find_news, pending_runs, "watched pages"),)
