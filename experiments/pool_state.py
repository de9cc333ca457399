"""An experiment's view of its pool: deadlocked processes, and unsafe grants."""

from __future__ import annotations

from collections import Counter

from django.db.models import OuterRef, Q, Subquery

from allocation.history.checkpoints import ledger_entries
from allocation.models import (
    EventKind,
    Pool,
    Process,
    ProcessState,
    Request,
    RequestKind,
    RequestState,
)
from allocation.rules import banker
from allocation.rules.replay import LedgerReplay
from experiments.deadlock_detection import deadlocked_processes

#: requests without which a process cannot go on; it can go on without growth
BLOCKING = (RequestKind.START, RequestKind.STAGE)


def deadlocked_processes_of_pool(pool: Pool) -> frozenset[int]:
    """The processes that are truly deadlocked.

    One statement reads the pool, so it sees the pool at one moment.
    """
    wanted = Request.objects.filter(
        process=OuterRef("pk"), state=RequestState.WAITING, kind__in=BLOCKING
    ).values("amounts")[:1]
    rows = Process.objects.filter(pool=pool, state=ProcessState.ACTIVE).annotate(
        wanted=Subquery(wanted)
    )
    found = list(
        rows.filter(Q(holding=True) | Q(wanted__isnull=False)).values_list(
            "pk", "allocated", "wanted", "pool__available"
        )
    )
    if not found:
        return frozenset()
    allocation = {pk: tuple(allocated) for pk, allocated, _, _ in found}
    waiting = {pk: tuple(amounts) for pk, _, amounts, _ in found if amounts}
    return deadlocked_processes(tuple(found[0][3]), allocation, waiting)


def unsafe_grants(pool: Pool) -> Counter[int]:
    """Return the number of grants that left the pool in an unsafe state, by process, from its
    ledger.
    """
    replay, found = LedgerReplay(), Counter[int]()
    for entry in ledger_entries(pool.pk):
        replay.apply_event(entry)
        if entry.kind == EventKind.GRANTED:
            state, rows = replay.state()
            found[entry.process] += len(banker.finishable_processes(state)) < len(rows)
    return found
