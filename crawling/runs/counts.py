"""The counts of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Sum

from crawling.models import HostQueue, RunTotal, Url, UrlState

COUNTED = (
    "discovered",
    "fetched",
    "succeeded",
    "failed",
    "excluded",
    "bytes",
    "quarantined",
    "duplicate",
    "reused",
)


@dataclass(frozen=True)
class RunCounts:
    """discovered = queued + in_process + succeeded + failed + excluded + quarantined; fetched:
    answers, whatever their status; duplicate: of them, those whose content another page of the run
    had first; reused: of them, those taken from other crawls."""

    discovered: int = 0
    queued: int = 0
    in_process: int = 0
    fetched: int = 0
    succeeded: int = 0
    failed: int = 0
    excluded: int = 0
    bytes: int = 0
    quarantined: int = 0
    duplicate: int = 0
    reused: int = 0


def counts_of(run_ids: Sequence[int]) -> dict[int, RunCounts]:
    """The counts of each of these runs."""
    by_run = {
        run: dict(zip(COUNTED, sums, strict=True))
        for run, *sums in RunTotal.objects.filter(run__in=run_ids).values_list("run", *COUNTED)
    }
    queued = (
        HostQueue.objects.filter(run__in=run_ids, queued__gt=0)
        .values("run")
        .annotate(n=Sum("queued"))
    )
    queued_by_run = {row["run"]: row["n"] for row in queued}
    in_process = (
        Url.objects.filter(state=UrlState.IN_PROCESS, shift__isnull=False, run__in=run_ids)
        .values("run")
        .annotate(n=Count("pk"))
    )
    in_process_by_run = {row["run"]: row["n"] for row in in_process}
    return {
        run: RunCounts(
            **by_run.get(run, {}),
            queued=queued_by_run.get(run, 0),
            in_process=in_process_by_run.get(run, 0),
        )
        for run in run_ids
    }
