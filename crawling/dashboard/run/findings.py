"""What a run has found: pages, hosts, causes of failures, and its work by minute.

One query a list, each bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Sum
from django.utils import timezone

from crawling.dashboard.pages.filter import PageFilter
from crawling.frontier.run_counts import COUNTED, FetchCounts
from crawling.models import HostQueue, Page, Run, RunCount
from crawling.paging import cut, page_of


@dataclass(frozen=True)
class HostView:
    """A host of a run.

    `leased_to` is the crawl that is fetching from it, if one is; before `due_at` nobody may.
    """

    name: str
    process: int
    queued: int
    due_at: datetime
    delay_seconds: float
    leased_to: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMinute(FetchCounts):
    """What a run did in one minute."""

    minute: datetime


def list_pages(
    run: Run, wanted: PageFilter, *, after: int = 0, limit: int
) -> tuple[Sequence[Page], int | None]:
    """Answered fetches in the order in which their URLs were found."""
    found = wanted.of(run).select_related("url", "archive_file").filter(pk__gt=after)
    return page_of(found.order_by("pk"), limit)


def list_hosts(
    run: Run, *, text: str = "", after: int = 0, limit: int
) -> tuple[list[HostView], int | None]:
    """The run's hosts in the order in which they were found."""
    found = HostQueue.objects.select_related("host__shift__process__run__crawl").filter(
        run=run, pk__gt=after
    )
    if text:
        found = found.filter(host__name__contains=text)
    rows, following = page_of(found.order_by("pk"), limit)
    return [_host(row) for row in rows], following


def _host(queue: HostQueue) -> HostView:
    host, shift = queue.host, queue.host.shift
    is_leased = (
        shift is not None
        and shift.ended_at is None
        and host.lease_until is not None
        and host.lease_until > timezone.now()
    )
    return HostView(
        name=host.name,
        process=queue.process_number,
        queued=queue.queued,
        due_at=max(queue.due_at, host.due_at),
        delay_seconds=host.delay_seconds,
        leased_to=shift.process.run.crawl.name if shift is not None and is_leased else None,
    )


def minutes(run: Run, *, after: int = 0, limit: int) -> tuple[list[RunMinute], int | None]:
    """The run's work by minute, the oldest first; the cursor is the minute in seconds since
    1970."""
    since = datetime.fromtimestamp(after, UTC)
    counts = RunCount.objects.filter(run=run, minute__gt=since).values("minute").order_by("minute")
    sums = counts.annotate(**{f"total_{name}": Sum(name) for name in COUNTED})
    found = sums.values_list("minute", *(f"total_{name}" for name in COUNTED))
    rows = [
        RunMinute(minute=minute, **dict(zip(COUNTED, totals, strict=True)))
        for minute, *totals in found[: limit + 1]
    ]
    return cut(rows, limit, lambda row: int(row.minute.timestamp()))
