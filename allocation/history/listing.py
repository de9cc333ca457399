"""The ledger in pages, and the way from one event to the next."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from allocation.models import Event, Process
from serving.paging import cut


@dataclass(frozen=True)
class EventFilter:
    """Which events: of one process, of one kind; 0 and empty mean all."""

    process: int = 0
    kind: str = ""

    def of(self, pool: int) -> QuerySet[Event]:
        found = Event.objects.filter(pool=pool)
        if self.process:
            found = found.filter(process=self.process)
        return found.filter(kind=self.kind) if self.kind else found


@dataclass(frozen=True)
class EventNeighbours:
    """The versions to go on to, among the events that the filters let through; None where there is
    none.
    """

    first: int | None
    back: int | None
    forward: int | None
    last: int | None


def ways_from(pool: int, version: int, filters: EventFilter) -> EventNeighbours:
    versions = filters.of(pool).values_list("version", flat=True)
    return EventNeighbours(
        first=versions.order_by("version").first(),
        back=versions.filter(version__lt=version).order_by("-version").first(),
        forward=versions.filter(version__gt=version).order_by("version").first(),
        last=versions.order_by("-version").first(),
    )


def list_events(
    pool: int, filters: EventFilter, *, before: int | None = None, limit: int
) -> tuple[list[Event], int | None]:
    """A page of the ledger, the newest first, and the version to go on before; None at the end."""
    found = filters.of(pool).select_related("process").order_by("-version")
    if before is not None:
        found = found.filter(version__lt=before)
    return cut(list(found[: limit + 1]), limit, lambda event: event.version)


def processes_of(pool: int, *, most: int = 500) -> list[tuple[int, str]]:
    """The processes that events can be chosen by, the newest first."""
    return list(Process.objects.filter(pool=pool).order_by("-pk").values_list("pk", "label")[:most])
