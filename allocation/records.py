"""Read the ledger and the list of pools, for pages. Locks nothing."""

from __future__ import annotations

from django.db.models import Count

from allocation.models import (
    Event,
    EventKind,
    Pool,
    Process,
    ProcessState,
    Request,
    RequestState,
    ResourceClass,
)
from allocation.selectors import resource_rows
from allocation.snapshot import EventRow, PoolCard
from allocation.wording import UnitWords


def recent_events(pool: int, *, process: int | None = None, most: int = 50) -> list[EventRow]:
    """The latest entries of a pool's ledger, or those about one process of it; the newest first."""
    found = Event.objects.filter(pool=pool).select_related("process").order_by("-version")
    if process is not None:
        found = found.filter(process=process)
    classes = ResourceClass.objects.filter(pool=pool).order_by("ordinal")
    measures = [UnitWords(key, unit) for key, unit in classes.values_list("key", "unit")]
    return [_event_row(event, measures) for event in found[:most]]


def _event_row(event: Event, measures: list[UnitWords]) -> EventRow:
    kind = EventKind(event.kind)
    return EventRow(
        version=event.version,
        at=event.at,
        kind=kind.value,
        what=kind.label.partition(" (")[0],
        process=event.process_id,
        label=event.process.label if event.process else "",
        # Events from before a class was added are shorter.
        amounts=tuple(
            measure.amount(units)
            for measure, units in zip(measures, event.amounts, strict=False)
            if units
        ),
        reason=event.reason,
    )


def pool_cards() -> list[PoolCard]:
    """Every pool that crawls use, with how full it is and how many requests wait; pools without
    processes last.
    """
    active = dict(
        Process.objects.filter(state=ProcessState.ACTIVE)
        .order_by()
        .values_list("pool")
        .annotate(Count("pk"))
    )
    waiting = dict(
        Request.objects.filter(state=RequestState.WAITING)
        .order_by()
        .values_list("pool")
        .annotate(Count("pk"))
    )
    cards = [
        PoolCard(
            id=pool.pk,
            name=pool.name,
            policy=pool.policy,
            is_safe=pool.is_safe,
            resources=resource_rows(pool, list(pool.classes.all())),
            processes=active.get(pool.pk, 0),
            waiting=waiting.get(pool.pk, 0),
        )
        for pool in Pool.objects.filter(is_experiment=False)
        .prefetch_related("classes")
        .order_by("name")
    ]
    return sorted(cards, key=lambda card: not card.processes)
