"""Assign a run's hosts to the processes that serve them (SEEDS W5, W14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db import connection

from crawling.frontier.rules.hosts import EVEN_FROM, place_hosts
from crawling.frontier.sql_rows import SentRows
from crawling.models import HostQueue, Run, RunProcess


class QueuePlace(NamedTuple):
    id: int
    #: the number of the process that serves the host
    number: int


PLACES = SentRows("new", QueuePlace)
MOVE = f"""
UPDATE crawling_hostqueue q SET process_number = new.number FROM {PLACES} WHERE q.id = new.id
"""  # noqa: S608  # constants


def serving_process_numbers(run_id: int) -> list[int]:
    """The numbers of the processes to which the run's hosts are assigned."""
    return list(
        RunProcess.objects.filter(run=run_id, serving=True)
        .order_by("number")
        .values_list("number", flat=True)
    )


def reassign_hosts(run: Run, numbers: Sequence[int], *, of: int | None = None) -> int:
    """Assign each host of the run, or of one of its processes, to the right process among
    `numbers`. Return the number of hosts that moved.

    A leased host stays with its shift until the shift releases it. The caller holds the run's lock.
    """
    queues = HostQueue.objects.filter(run=run)
    loads: Counter[int] = Counter()
    if of is not None:
        loads = host_counts(run.pk, numbers)
        queues = queues.filter(process_number=of)
    rows = list(queues.order_by("pk").values_list("pk", "host__name", "process_number"))
    placed = place_hosts((name for _, name, _ in rows), numbers, loads)
    moved = [
        QueuePlace(queue, number)
        for (queue, _, before), number in zip(rows, placed, strict=True)
        if number != before
    ]
    with connection.cursor() as cursor:
        cursor.execute(MOVE, PLACES.values(moved))
    return len(moved)


def host_counts(run_id: int, numbers: Sequence[int]) -> Counter[int]:
    """The number of hosts of each process, as far as it matters to the assignment of the next
    hosts.
    """
    if len(numbers) < 2:
        return Counter()
    some = HostQueue.objects.filter(run=run_id, process_number__in=numbers).values_list(
        "process_number", flat=True
    )
    return Counter(some[: EVEN_FROM * len(numbers)])


def hosts_of_other_processes(host_ids: Collection[int], process: RunProcess) -> set[int]:
    """The hosts among `host_ids` that another process of the run must serve now."""
    queues = HostQueue.objects.filter(host__in=host_ids, run=process.run_id).exclude(
        process_number=process.number
    )
    return set(queues.values_list("host_id", flat=True))
