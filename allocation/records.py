"""Read the ledger and the list of pools, for pages. Locks nothing."""

from __future__ import annotations

from django.db.models import Count, Q

from allocation.models import Event, EventKind, Pool, ProcessState, RequestState, ResourceClass
from allocation.selectors import resource_rows
from allocation.snapshot import EventRow, PoolCard
from allocation.wording import Measure


def recent_events(pool: int, *, process: int | None = None, most: int = 50) -> list[EventRow]:
    """The latest entries of a pool's ledger, or those about one process of it; the newest first."""
    found = Event.objects.filter(pool=pool).select_related("process").order_by("-version")
    if process is not None:
        found = found.filter(process=process)
    classes = ResourceClass.objects.filter(pool=pool).order_by("ordinal")
    measures = [Measure(key, unit) for key, unit in classes.values_list("key", "unit")]
    return [_event_row(event, measures) for event in found[:most]]


def _event_row(event: Event, measures: list[Measure]) -> EventRow:
    kind = EventKind(event.kind)
    return EventRow(
        version=event.version,
        at=event.at,
        kind=kind.value,
        what=kind.label.partition(" (")[0],
        process=event.process_id,
        label=event.process.label if event.process else "",
        # Events from before a class was added are shorter.
        amounts=tuple(measure.amount(units) for measure, units in zip(measures, event.amounts, strict=False) if units),
        reason=event.reason,
    )


def pool_cards() -> list[PoolCard]:
    """Every pool, with how full it is and how many wait."""
    active = Count("processes", filter=Q(processes__state=ProcessState.ACTIVE), distinct=True)
    waiting = Count("requests", filter=Q(requests__state=RequestState.WAITING), distinct=True)
    pools = Pool.objects.annotate(active=active, waits=waiting).prefetch_related("classes").order_by("name")
    return [
        PoolCard(pool.pk, pool.name, pool.policy, pool.is_safe, resource_rows(pool, list(pool.classes.all())), pool.active, pool.waits)
        for pool in pools
    ]
