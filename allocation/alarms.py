"""Pools with a fault, which every page shows: unsafe limits that an administrator has set by an
override, or missing units.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from django.db import connection
from django.http import HttpRequest
from django.utils.text import capfirst

from allocation.checks import pools_with_missing_units
from allocation.models import Event, EventKind, Pool, Process
from allocation.rules.banker import State
from allocation.rules.remedies import excess_claims, missing_units, stuck_processes
from allocation.wording import UnitWords, first_few_in_words, joined_in_words

AUDIT = (
    "`manage.py audit_allocation` names the first event that cannot be, or the rows that differ "
    "from the ledger."
)
#: asked by each page
IS_ONE = """
SELECT EXISTS (
    SELECT FROM conservation c JOIN allocation_pool p ON p.id = c.pool_id
    WHERE c.difference <> 0 OR c.ungranted <> 0 OR NOT p.is_safe
)
"""


@dataclass(frozen=True)
class Alarm:
    pool: int
    name: str
    #: whether the state is unsafe or units are missing; `sentences` describe the alarm, and
    #: `remedies` would end it
    kind: str
    sentences: tuple[str, ...]
    remedies: tuple[str, ...]

    @property
    def text(self) -> str:
        remedies = (
            [f"It is safe again {', or '.join(self.remedies)}."]
            if self.kind == "unsafe" and self.remedies
            else list(self.remedies)
        )
        return capfirst(" ".join([*self.sentences, *remedies]))


def alarms() -> list[Alarm]:
    """The alarms of all pools, at most two for each. Takes one query if there is none, as is
    usual.
    """
    with connection.cursor() as cursor:
        cursor.execute(IS_ONE)
        (is_one,) = cursor.fetchone()
    if not is_one:
        return []
    flagged = Pool.objects.filter(is_safe=False).order_by("name").prefetch_related("classes")
    missing = groupby(pools_with_missing_units(), key=lambda row: (row.pool, row.name))
    return [
        *(
            Alarm(*pool, "missing", tuple(row.sentence for row in rows), (AUDIT,))
            for pool, rows in missing
        ),
        *map(_unsafe_alarm, flagged),
    ]


def _unsafe_alarm(pool: Pool) -> Alarm:
    holders = list(Process.objects.filter(pool=pool, holding=True, kept_until=None).order_by("pk"))
    state = State(
        tuple(pool.available),
        tuple(tuple(p.max_claim) for p in holders),
        tuple(tuple(p.allocated) for p in holders),
    )
    said = (
        Event.objects.filter(pool=pool, kind=EventKind.OVERRIDDEN)
        .order_by("-version")
        .values_list("reason", flat=True)
        .first()
    )
    measures = [UnitWords(one.key, one.unit) for one in pool.classes.all()]
    stuck_ones = first_few_in_words([holders[i].label for i in stuck_processes(state)])
    could = f"; {stuck_ones} could wait for each other forever" if stuck_ones else ""
    return Alarm(
        pool=pool.pk,
        name=pool.name,
        kind="unsafe",
        sentences=(
            f"unsafe limits are in force{could}.",
            *([f"Put through by {said}"] if said else []),
        ),
        remedies=_remedies_in_words(pool, measures, state, [holder.label for holder in holders]),
    )


def _remedies_in_words(
    pool: Pool, measures: list[UnitWords], state: State, labels: list[str]
) -> tuple[str, ...]:
    missing = [
        f"{measure.name} raised by {measure.number(units)} to {measure.number(capacity + units)}"
        for measure, units, capacity in zip(
            measures, missing_units(state), pool.capacity, strict=False
        )
        if units
    ]
    lower = []
    for i, less in excess_claims(state).items():
        claims = [
            m.amount(state.maximum[i][j] - units)
            for j, (m, units) in _classes_to_lower(measures, less)
        ]
        lower.append(f"the claim of {labels[i]} lowered to {joined_in_words(claims)}")
    remedies = [f"with {joined_in_words(missing)}"] if missing else []
    remedies += [f"with {first_few_in_words(lower)}"] if lower else []
    return (*remedies, "once enough is released") if remedies else ()


def _classes_to_lower(
    measures: list[UnitWords], less: tuple[int, ...]
) -> list[tuple[int, tuple[UnitWords, int]]]:
    """The classes of which a claim must fall: the place, the measure and the units of each."""
    return [
        (j, (measure, units))
        for j, (measure, units) in enumerate(zip(measures, less, strict=False))
        if units
    ]


def alarms_in_pages(request: HttpRequest) -> dict[str, object]:
    """`alarms`: the flagged pools, for users who may see them.

    Read only on pages that show it, not on their refreshes.
    """
    user = getattr(request, "user", None)
    return {
        "alarms": lambda: (
            alarms() if user is not None and user.has_perm("allocation.view_pool") else []
        )
    }
