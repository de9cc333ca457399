"""What a run has found: its pages, and its work by minute.

One query a list, each bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Sum

from crawling.dashboard.pages.filter import PageFilter
from crawling.frontier.run_counts import COUNTED, FetchCounts
from crawling.models import Page, Run, RunCount
from serving.paging import cut, page_of


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
