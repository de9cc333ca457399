"""The counts of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Sum

from crawling.frontier.run_counts import COUNTED, FetchCounts
from crawling.models import HostQueue, RunTotal, Url, UrlState


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts(FetchCounts):
    """discovered = queued + in_process + succeeded + failed + excluded + quarantined."""

    queued: int = 0
    in_process: int = 0


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
