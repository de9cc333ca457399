"""Questions to the frontier: when queues are due, and which hosts other runs need."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.db import connection

from crawling.frontier.waiting_names import (
    FREE_AT,
    FREE_AT_FOR_RETURN,
    HELD_UNTIL,
    is_gate_enabled,
)
from crawling.models import HostQueue, RunProcess, Url, UrlState
from crawling.models.jobs import WORKING_STATES
from crawling.web.addresses import Address, canonical_address

UNTIL_DUE = f"""
SELECT extract(epoch FROM min(greatest(q.due_at, {HELD_UNTIL},
    CASE WHEN %(any)s THEN {FREE_AT_FOR_RETURN} ELSE {FREE_AT} END)) - clock_timestamp())::float8
FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
WHERE q.run_id = %(run)s AND (q.process_number = %(number)s OR %(any)s) AND q.queued > 0
"""  # noqa: S608  # constants


def seconds_until_due(process: RunProcess) -> float | None:
    """Seconds until a host of the process may be fetched from (negative if this time has passed);
    None if the process has no URLs.

    If other processes have taken over its hosts, any host of the run counts, since the process gets
    its share back at its next shift.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            UNTIL_DUE,
            {
                "run": process.run_id,
                "number": process.number,
                "any": not process.serving,
                "gate": is_gate_enabled(),
            },
        )
        row = cursor.fetchone()
    return None if row is None or row[0] is None else float(row[0])


def contested_hosts(host_ids: Collection[int], run_id: int) -> set[int]:
    """The hosts among `host_ids` that another active run also needs."""
    others = HostQueue.objects.filter(
        host__in=host_ids, queued__gt=0, run__state__in=WORKING_STATES
    ).exclude(run=run_id)
    return set(others.values_list("host_id", flat=True))


def fetched_seed(queue_id: int) -> str | None:
    """A fetched seed of the queue's host; None if there is none."""
    queue = HostQueue.objects.get(pk=queue_id)
    had = Url.objects.filter(run=queue.run_id, queue=queue_id, depth=0, state=UrlState.SUCCEEDED)
    return had.values_list("url", flat=True).first()


class RunSeeds(NamedTuple):
    seeds: list[Address]
    targets: list[Address]


def seeds_of(run_id: int) -> RunSeeds:
    return seeds_of_runs([run_id])[run_id]


def seeds_of_runs(run_ids: Collection[int]) -> dict[int, RunSeeds]:
    """The seeds of each of these runs, in one query."""
    rows = Url.objects.filter(run__in=run_ids, depth=0).values_list("run_id", "url", "redirects")
    found = {run: RunSeeds([], []) for run in run_ids}
    for run, url, redirects in rows:
        own = found[run]
        (own.targets if redirects else own.seeds).append(canonical_address(url))
    return found
