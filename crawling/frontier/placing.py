"""Move a run's hosts over the processes that serve them (SEEDS W5, W14)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db import connection

from crawling.models import HostQueue, Run, RunProcess
from crawling.rules.placing import place

MOVE = """
UPDATE crawling_hostqueue q SET process_number = new.number
FROM unnest(%s::bigint[], %s::int[]) AS new(id, number) WHERE q.id = new.id
"""


def serving_numbers(run_id: int) -> list[int]:
    """The numbers that the run's hosts are placed on."""
    return list(RunProcess.objects.filter(run=run_id, serving=True).order_by("number").values_list("number", flat=True))


def place_anew(run: Run, numbers: Sequence[int], *, of: int | None = None) -> int:
    """Give each host of the run, or of one of its processes, to whom it belongs among `numbers`; returns how many moved.

    A host that is leased stays with its shift until that lets it go. The caller holds the run's lock.
    """
    queues = HostQueue.objects.filter(run=run)
    if of is not None:
        queues = queues.filter(process_number=of)
    moved = {
        queue: number
        for queue, name, before in queues.values_list("pk", "host__name", "process_number")
        if (number := place(name, numbers)) != before
    }
    with connection.cursor() as cursor:
        cursor.execute(MOVE, [list(moved), list(moved.values())])
    return len(moved)


def moved_away(host_ids: Collection[int], process: RunProcess) -> set[int]:
    """Those of the hosts that another process of the run is to serve now."""
    queues = HostQueue.objects.filter(host__in=host_ids, run=process.run_id).exclude(process_number=process.number)
    return set(queues.values_list("host_id", flat=True))
