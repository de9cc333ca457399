"""The runs of a crawl, in pages that do not shift while runs are added."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from crawling.frontier import RunCounts, counts_of
from crawling.models import CrawlJob
from crawling.models.jobs import WORKING_STATES
from crawling.runs.wait_reason import WaitReason, wait_reasons
from serving.paging import cut_to_limit


@dataclass(frozen=True)
class RunView:
    """One run of a crawl, in the same form as the latest run in `CrawlView`."""

    number: int
    state: str
    reason: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    counts: RunCounts


def list_runs(
    crawl: CrawlJob, *, before: int | None = None, limit: int
) -> tuple[list[RunView], int | None]:
    """A page of the crawl's runs, the latest first, and the number before which to continue."""
    found = crawl.runs.order_by("-number")
    found = found if before is None else found.filter(number__lt=before)
    runs, following = cut_to_limit(list(found[: limit + 1]), limit, lambda run: run.number)
    counts = counts_of([run.pk for run in runs])
    idle = wait_reasons([run for run in runs if run.state in WORKING_STATES])
    views = [
        RunView(
            run.number,
            *idle.get(run.pk, WaitReason(run.state, run.reason)),
            run.created_at,
            run.started_at,
            run.finished_at,
            counts[run.pk],
        )
        for run in runs
    ]
    return views, following
