"""What a change of limits would do.

The change is made by the same code as in earnest, and rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.db import transaction

from allocation.errors import (
    AllocationError,
    CapacityWouldBeUnsafe,
    ClaimWouldBeUnsafe,
    UnknownProcess,
)
from allocation.models import Event, EventKind, Pool, Process, ProcessState, Request, RequestState
from allocation.rules import banker
from allocation.rules.banker import Vector
from allocation.rules.fairness import URGENT, TurnRules, kept_back
from allocation.services.limits import ChangedLimits, put_limits, put_process
from allocation.services.transaction import bank_transaction
from allocation.services.turns import rules_of
from allocation.values import LimitsPreview, Override, PoolLimits, ProcessLimits

#: lets a preview look behind the refusal of an unsafe change; it is rolled back in any case
DRY = Override(by="preview", reason="to see who would be stuck")


@bank_transaction
def preview_limits(*, pool: int, limits: PoolLimits) -> LimitsPreview:
    """What `change_limits` would do now. Nothing changes."""
    return _tried(
        pool, lambda: put_limits(pool, limits, DRY), CapacityWouldBeUnsafe, limits.capacity
    )


@bank_transaction
def preview_process(*, process: int, limits: ProcessLimits) -> LimitsPreview:
    """What `change_process` would do now. Nothing changes."""
    pool = Process.objects.filter(pk=process).values_list("pool_id", flat=True).first()
    if pool is None:
        raise UnknownProcess(process=process)
    return _tried(pool, lambda: put_process(process, limits, DRY), ClaimWouldBeUnsafe)


@dataclass(frozen=True)
class _Claim:
    label: str
    maximum: Vector
    need: Vector
    is_bound: bool  # by what is reserved for urgent work


@dataclass(frozen=True)
class _PoolLimits:
    """The limits of a pool at one moment, and who claims what of them."""

    version: int
    keys: tuple[str, ...]
    capacity: Vector
    available: Vector
    rules: TurnRules
    claims: dict[int, _Claim]

    @classmethod
    def of(cls, pool: int) -> _PoolLimits:
        row = Pool.objects.select_for_update(no_key=True).get(pk=pool)
        active = Process.objects.filter(pool=pool, state=ProcessState.ACTIVE).order_by("pk")
        claims = {
            pk: _Claim(
                label,
                tuple(claim),
                banker.minus(tuple(claim), tuple(held)),
                not any(held) and priority < URGENT,
            )
            for pk, label, claim, held, priority in active.values_list(
                "pk", "label", "max_claim", "allocated", "priority"
            )
        }
        keys = tuple(row.classes.values_list("key", flat=True))
        capacity, available = tuple(row.capacity), tuple(row.available)
        return cls(row.version, keys, capacity, available, rules_of(row), claims)

    def misfits(self, capacity: Mapping[str, int]) -> tuple[str, ...]:
        """Who claims more than there would be."""
        most = {self.keys.index(key): units for key, units in capacity.items() if key in self.keys}
        return tuple(
            claim.label
            for claim in self.claims.values()
            if any(claim.maximum[j] > units for j, units in most.items())
        )

    def at_once(self, available: Vector) -> set[int]:
        """Who could get all it may still ask for without a wait."""
        beside = {
            pk: kept_back(self.rules, claim.need) if claim.is_bound else (0,) * len(available)
            for pk, claim in self.claims.items()
        }
        return {
            pk
            for pk, claim in self.claims.items()
            if banker.fits(banker.plus(claim.need, beside[pk]), available)
        }


def _tried(
    pool: int,
    change: Callable[[], ChangedLimits],
    refusal: type[CapacityWouldBeUnsafe | ClaimWouldBeUnsafe],
    capacity: Mapping[str, int] | None = None,
) -> LimitsPreview:
    # The change itself reports an unknown pool.
    before = _PoolLimits.of(pool) if Pool.objects.filter(pk=pool).exists() else None
    try:
        changed = change()
        assert before is not None
        return _describe_change(before, changed, refusal)
    except AllocationError as error:
        misfits = before.misfits(capacity or {}) if before else ()
        return LimitsPreview(str(error), str(error.facts.get("resource", "")), misfits)
    finally:
        transaction.set_rollback(True)


def _describe_change(
    before: _PoolLimits,
    changed: ChangedLimits,
    refusal: type[CapacityWouldBeUnsafe | ClaimWouldBeUnsafe],
) -> LimitsPreview:
    pool = changed.bank.pool
    after = _PoolLimits.of(pool.pk)
    in_use = banker.minus(before.capacity, before.available)
    # Before any process was served by it: a served process takes units that others then wait for.
    then_available = banker.minus(after.capacity, in_use)
    late = before.at_once(before.available) - after.at_once(then_available)
    waiting = Request.objects.filter(pool=pool, state=RequestState.WAITING).order_by("turn", "seq")
    grants = Event.objects.filter(pool=pool, kind=EventKind.GRANTED)
    served = grants.filter(version__gt=before.version).order_by("version")
    return LimitsPreview(
        refused=str(refusal(stuck=", ".join(changed.stuck))) if changed.stuck else "",
        stuck=changed.stuck,
        served=tuple(served.values_list("process__label", flat=True)),
        waiting=tuple(waiting.values_list("process__label", flat=True)),
        would_wait=tuple(claim.label for pk, claim in before.claims.items() if pk in late),
    )
