"""Pools whose unsafe limits somebody put through: flagged on every page until the state is safe again."""

from __future__ import annotations

from dataclasses import dataclass

from allocation.banker import State
from allocation.models import Event, EventKind, Pool, Process
from allocation.remedies import claims_too_high, missing_units, stuck
from allocation.wording import Measure, listed, some


@dataclass(frozen=True)
class Alarm:
    """A pool that is flagged. `why` is who put it through and for what reason, `remedies` what would clear it."""

    pool: int
    name: str
    stuck: str
    why: str
    remedies: tuple[str, ...]


def alarms() -> list[Alarm]:
    """One for each flagged pool. One query where there is none, which is nearly always."""
    return [_alarm(pool) for pool in Pool.objects.filter(is_safe=False).order_by("name").prefetch_related("classes")]


def _alarm(pool: Pool) -> Alarm:
    holders = list(Process.objects.filter(pool=pool, holding=True, kept_until=None).order_by("pk"))
    state = State(tuple(pool.available), tuple(tuple(p.max_claim) for p in holders), tuple(tuple(p.allocated) for p in holders))
    said = Event.objects.filter(pool=pool, kind=EventKind.OVERRIDDEN).order_by("-version").values_list("reason", flat=True).first()
    measures = [Measure(one.key, one.unit) for one in pool.classes.all()]
    return Alarm(
        pool=pool.pk,
        name=pool.name,
        stuck=some([holders[i].label for i in stuck(state)]),
        why=said or "",
        remedies=_remedies(pool, measures, state, [holder.label for holder in holders]),
    )


def _remedies(pool: Pool, measures: list[Measure], state: State, labels: list[str]) -> tuple[str, ...]:
    missing = [
        f"{measure.name} raised by {units:,} to {capacity + units:,}"
        for measure, units, capacity in zip(measures, missing_units(state), pool.capacity, strict=False)
        if units
    ]
    lower = [
        f"the claim of {labels[i]} lowered to {listed([m.amount(state.maximum[i][j] - units) for j, (m, units) in _named(measures, less)])}"
        for i, less in claims_too_high(state).items()
    ]
    remedies = [f"with {listed(missing)}"] if missing else []
    remedies += [f"with {some(lower)}"] if lower else []
    return (*remedies, "once enough is given back") if remedies else ()


def _named(measures: list[Measure], less: tuple[int, ...]) -> list[tuple[int, tuple[Measure, int]]]:
    """The classes of which there is to be less, by their places."""
    return [(j, (measure, units)) for j, (measure, units) in enumerate(zip(measures, less, strict=False)) if units]
