"""The ledger in pages, and the links from one event to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet, Subquery

from allocation.models import Event, EventKind, Pool, Process, ResourceClass
from allocation.snapshot import EventRow
from allocation.wording import UnitWords
from serving.paging import cut_to_limit


@dataclass(frozen=True)
class EventFilter:
    """The events to be listed: of one process, or of one kind; 0 and empty mean all."""

    process: int = 0
    kind: str = ""

    def select_events(self, pool: int) -> QuerySet[Event]:
        found = Event.objects.filter(pool=pool)
        if self.process:
            found = found.filter(process=self.process)
        return found.filter(kind=self.kind) if self.kind else found


@dataclass(frozen=True)
class EventNeighbours:
    """The versions of the next and the previous event that match the filters; None if there is
    none.
    """

    first: int | None
    back: int | None
    forward: int | None
    last: int | None


def neighbours_of_event(pool: int, version: int, filters: EventFilter) -> EventNeighbours:
    """The neighbours of the event with this version. Takes one query."""
    versions = filters.select_events(pool).values("version")
    return EventNeighbours(
        *_first_events_by_kind(
            pool,
            versions.order_by("version"),
            versions.filter(version__lt=version).order_by("-version"),
            versions.filter(version__gt=version).order_by("version"),
            versions.order_by("-version"),
        )
    )


def next_events_by_kind(
    pool: int, version: int, process: int, kinds: Sequence[str]
) -> dict[str, int | None]:
    """The version of the next event of each kind. process: 0 for all. Takes one query."""
    found = [
        EventFilter(process, kind)
        .select_events(pool)
        .filter(version__gt=version)
        .order_by("version")
        for kind in kinds
    ]
    return dict(
        zip(
            kinds,
            _first_events_by_kind(pool, *(rows.values("version") for rows in found)),
            strict=True,
        )
    )


def _first_events_by_kind(pool: int, *found: QuerySet[Any]) -> tuple[int | None, ...]:
    firsts = [Subquery(rows[:1]) for rows in found]
    row: tuple[int | None, ...] = Pool.objects.filter(pk=pool).values_list(*firsts).get()
    return row


def list_events(
    pool: int, filters: EventFilter, *, before: int | None = None, limit: int
) -> tuple[list[Event], int | None]:
    """The events of a pool, the newest first, and the version before which to continue; None at the
    end.
    """
    found = filters.select_events(pool).select_related("process").order_by("-version")
    if before is not None:
        found = found.filter(version__lt=before)
    return cut_to_limit(list(found[: limit + 1]), limit, lambda event: event.version)


def processes_of(pool: int, *, most: int = 500) -> list[tuple[int, str]]:
    """The processes by which events can be filtered, the newest first."""
    return list(Process.objects.filter(pool=pool).order_by("-pk").values_list("pk", "label")[:most])


def recent_events(pool: int, *, process: int | None = None, most: int = 50) -> list[EventRow]:
    """The latest events of a pool's ledger, or those about one of its processes; the newest
    first.
    """
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
        # amounts in events from before a class was added have fewer entries
        amounts=tuple(
            measure.amount(units)
            for measure, units in zip(measures, event.amounts, strict=False)
            if units
        ),
        reason=event.reason,
    )
