"""Previews of the effects of a change of limits.

The change is made by the same code as a real one, and rolled back.
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
    UnknownShare,
)
from allocation.models import (
    Event,
    EventKind,
    Pool,
    Process,
    ProcessState,
    Request,
    RequestState,
    Share,
)
from allocation.rules import banker
from allocation.rules.banker import Vector
from allocation.rules.fairness import QueuedRequest, TurnRules, units_kept_back
from allocation.rules.shares import Member, ShareTerms, ShareUse
from allocation.services.limits import ChangedLimits, put_limits, put_process
from allocation.services.shares import put_share
from allocation.services.transaction import bank_transaction
from allocation.services.turns import turn_rules
from allocation.values import LimitsPreview, Override, PoolLimits, ProcessLimits, ShareLimits

#: lets a preview continue after the refusal of an unsafe change; all of it is rolled back
DRY = Override(by="preview", reason="to see who would be stuck")


@bank_transaction
def preview_limits(*, pool: int, limits: PoolLimits) -> LimitsPreview:
    """The effects that `change_limits` would have now. Nothing changes."""
    return _try_change(
        pool, lambda: put_limits(pool, limits, DRY), CapacityWouldBeUnsafe, limits.capacity
    )


@bank_transaction
def preview_process(*, process: int, limits: ProcessLimits) -> LimitsPreview:
    """The effects that `change_process` would have now. Nothing changes."""
    pool = Process.objects.filter(pk=process).values_list("pool_id", flat=True).first()
    if pool is None:
        raise UnknownProcess(process=process)
    return _try_change(pool, lambda: put_process(process, limits, DRY), ClaimWouldBeUnsafe)


@bank_transaction
def preview_share(*, share: int, limits: ShareLimits) -> LimitsPreview:
    """The effects that `change_share` would have now. Nothing changes."""
    pool = Share.objects.filter(pk=share).values_list("pool_id", flat=True).first()
    if pool is None:
        raise UnknownShare(share=share)
    return _try_change(pool, lambda: put_share(share, limits), CapacityWouldBeUnsafe)


@dataclass(frozen=True)
class _Claim:
    label: str
    share: int | None
    maximum: Vector
    need: Vector
    holds: bool
    priority: int


@dataclass(frozen=True)
class _PoolLimits:
    version: int
    keys: tuple[str, ...]
    capacity: Vector
    available: Vector
    rules: TurnRules
    claims: dict[int, _Claim]
    use: ShareUse

    @classmethod
    def lock_and_read(cls, pool: int) -> _PoolLimits:
        row = Pool.objects.select_for_update(no_key=True).get(pk=pool)
        active = Process.objects.filter(pool=pool, state=ProcessState.ACTIVE).order_by("pk")
        claims = {
            pk: _Claim(
                label,
                share,
                tuple(claim),
                banker.minus(tuple(claim), tuple(held)),
                any(held),
                priority,
            )
            for pk, label, share, claim, held, priority in active.values_list(
                "pk", "label", "share", "max_claim", "allocated", "priority"
            )
        }
        terms = {
            one.pk: ShareTerms(one.name, tuple(one.reserved), tuple(one.limits))
            for one in row.shares.all()
        }
        members = tuple(
            Member(one.share, one.label, one.maximum, banker.minus(one.maximum, one.need))
            for one in claims.values()
            if one.holds
        )
        keys = tuple(row.classes.values_list("key", flat=True))
        capacity, available = tuple(row.capacity), tuple(row.available)
        use = ShareUse(terms, members)
        return cls(row.version, keys, capacity, available, turn_rules(row), claims, use)

    def misfits(self, capacity: Mapping[str, int]) -> tuple[str, ...]:
        """The labels of the claims that would exceed the capacity."""
        most = {self.keys.index(key): units for key, units in capacity.items() if key in self.keys}
        return tuple(
            claim.label
            for claim in self.claims.values()
            if any(claim.maximum[j] > units for j, units in most.items())
        )

    def processes_served_at_once(self, available: Vector) -> set[int]:
        """The processes that could get their whole Need without waiting."""
        return {
            pk for pk, claim in self.claims.items() if self._is_served_at_once(claim, available)
        }

    def _is_served_at_once(self, claim: _Claim, available: Vector) -> bool:
        asker = QueuedRequest.from_share_use(
            claim.need,
            claim.maximum,
            self.use,
            claim.share,
            holds=claim.holds,
            priority=claim.priority,
        )
        beside = banker.plus(claim.need, units_kept_back(self.rules, asker))
        return banker.fits(beside, available) and (claim.holds or asker.is_within_share)


def _try_change(
    pool: int,
    change: Callable[[], ChangedLimits],
    refusal: type[CapacityWouldBeUnsafe | ClaimWouldBeUnsafe],
    capacity: Mapping[str, int] | None = None,
) -> LimitsPreview:
    # the change itself reports an unknown pool
    before = _PoolLimits.lock_and_read(pool) if Pool.objects.filter(pk=pool).exists() else None
    try:
        changed = change()
        assert before is not None
        return _describe_change(before, changed, refusal)
    except AllocationError as error:
        misfits = before.misfits(capacity or {}) if before else ()
        return LimitsPreview(error, misfits)
    finally:
        transaction.set_rollback(True)


def _describe_change(
    before: _PoolLimits,
    changed: ChangedLimits,
    refusal: type[CapacityWouldBeUnsafe | ClaimWouldBeUnsafe],
) -> LimitsPreview:
    pool = changed.bank.pool
    after = _PoolLimits.lock_and_read(pool.pk)
    in_use = banker.minus(before.capacity, before.available)
    # before the change serves any process, since others then wait for the units of a served process
    then_available = banker.minus(after.capacity, in_use)
    late = before.processes_served_at_once(before.available) - after.processes_served_at_once(
        then_available
    )
    waiting = Request.objects.filter(pool=pool, state=RequestState.WAITING).order_by("turn", "seq")
    grants = Event.objects.filter(pool=pool, kind=EventKind.GRANTED)
    served = grants.filter(version__gt=before.version).order_by("version")
    return LimitsPreview(
        error=refusal(stuck=", ".join(changed.stuck)) if changed.stuck else None,
        stuck=changed.stuck,
        served=tuple(served.values_list("process__label", flat=True)),
        waiting=tuple(waiting.values_list("process__label", flat=True)),
        waiting_shares=tuple(
            waiting.exclude(process__share=None)
            .order_by("process__share__name")
            .values_list("process__share__name", flat=True)
            .distinct()
        ),
        would_wait=tuple(claim.label for pk, claim in before.claims.items() if pk in late),
        would_wait_shares=tuple(
            terms.name
            for share, terms in after.use.terms.items()
            if any(before.claims[pk].share == share for pk in late)
        ),
    )
