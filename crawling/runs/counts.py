"""The counts of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from crawling.frontier.run_counts import COUNTED, FetchCounts
from crawling.models import UrlState

NAMES = (*COUNTED, "queued", "in_process")
COUNTS = f"""
SELECT run.id, {", ".join(f"coalesce(total.{name}, 0)" for name in COUNTED)},
    coalesce(waiting.n, 0)::bigint, coalesce(working.n, 0)
FROM unnest(%(runs)s::bigint[]) AS run (id)
LEFT JOIN crawling_runtotal total ON total.run_id = run.id
LEFT JOIN (
    SELECT run_id, sum(queued) AS n FROM crawling_hostqueue
    WHERE run_id = ANY(%(runs)s) AND queued > 0 GROUP BY run_id) waiting ON waiting.run_id = run.id
LEFT JOIN (
    SELECT run_id, count(*) AS n FROM crawling_url
    WHERE run_id = ANY(%(runs)s) AND shift_id IS NOT NULL AND state = '{UrlState.IN_PROCESS}'
    GROUP BY run_id) working ON working.run_id = run.id
"""  # noqa: S608  # names of columns and a constant


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts(FetchCounts):
    """discovered = queued + in_process + succeeded + failed + excluded + quarantined."""

    queued: int = 0
    in_process: int = 0


def counts_of(run_ids: Sequence[int]) -> dict[int, RunCounts]:
    """The counts of each of these runs, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, {"runs": list(run_ids)})
        rows = cursor.fetchall()
    return {run: RunCounts(**dict(zip(NAMES, counts, strict=True))) for run, *counts in rows}
