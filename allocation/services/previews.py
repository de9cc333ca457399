"""What a change of limits would do. The change is made by the same code as in earnest, and rolled back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.db import transaction

from allocation import banker
from allocation.banker import Vector
from allocation.errors import AllocationError, CapacityWouldBeUnsafe, ClaimWouldBeUnsafe
from allocation.models import EventKind, Pool, Process, ProcessState, Request, RequestState
from allocation.services.bank import pool_of
from allocation.services.pools import Changed, put_capacity, put_claim
from allocation.services.transaction import bank_transaction
from allocation.values import Override, Preview

#: lets a preview look behind the refusal of an unsafe change; it is rolled back in any case
DRY = Override(by="preview", reason="to see who would be stuck")


@bank_transaction
def preview_capacity(*, pool: int, capacity: Mapping[str, int]) -> Preview:
    """What `set_capacity` would do now. Nothing changes."""
    return _tried(pool, lambda: put_capacity(pool, capacity, DRY), CapacityWouldBeUnsafe, capacity)


@bank_transaction
def preview_claim(*, process: int, maximum: Mapping[str, int]) -> Preview:
    """What `change_claim` would do now. Nothing changes."""
    return _tried(pool_of(process), lambda: put_claim(process, maximum, DRY), ClaimWouldBeUnsafe)


@dataclass(frozen=True)
class _Claim:
    label: str
    maximum: Vector
    need: Vector


@dataclass(frozen=True)
class _Scene:
    """The limits of a pool at one moment, and who claims what of them."""

    keys: tuple[str, ...]
    capacity: Vector
    available: Vector
    claims: dict[int, _Claim]

    @classmethod
    def of(cls, pool: int) -> _Scene:
        row = Pool.objects.select_for_update(no_key=True).get(pk=pool)
        active = Process.objects.filter(pool=pool, state=ProcessState.ACTIVE).order_by("pk")
        claims = {
            pk: _Claim(label, tuple(claim), banker.minus(tuple(claim), tuple(held)))
            for pk, label, claim, held in active.values_list("pk", "label", "max_claim", "allocated")
        }
        return cls(tuple(row.classes.values_list("key", flat=True)), tuple(row.capacity), tuple(row.available), claims)

    def misfits(self, capacity: Mapping[str, int]) -> tuple[str, ...]:
        """Who claims more than there would be."""
        most = {self.keys.index(key): units for key, units in capacity.items() if key in self.keys}
        return tuple(claim.label for claim in self.claims.values() if any(claim.maximum[j] > units for j, units in most.items()))

    def at_once(self, available: Vector) -> set[int]:
        """Who could get all it may still ask for without a wait."""
        return {pk for pk, claim in self.claims.items() if banker.fits(claim.need, available)}


def _tried(
    pool: int,
    change: Callable[[], Changed],
    refusal: type[CapacityWouldBeUnsafe | ClaimWouldBeUnsafe],
    capacity: Mapping[str, int] | None = None,
) -> Preview:
    # An unknown pool is told by the change itself.
    before = _Scene.of(pool) if Pool.objects.filter(pk=pool).exists() else None
    try:
        changed = change()
        assert before is not None
        return _told(before, changed, refusal)
    except AllocationError as error:
        misfits = before.misfits(capacity or {}) if before else ()
        return Preview(str(error), str(error.facts.get("resource", "")), misfits)
    finally:
        transaction.set_rollback(True)


def _told(before: _Scene, changed: Changed, refusal: type[CapacityWouldBeUnsafe | ClaimWouldBeUnsafe]) -> Preview:
    pool = changed.bank.pool
    after = _Scene.of(pool.pk)
    in_use = banker.minus(before.capacity, before.available)
    # Before anybody was served by it: who is served takes units that others then wait for.
    then_available = banker.minus(after.capacity, in_use)
    late = before.at_once(before.available) - after.at_once(then_available)
    waiting = Request.objects.filter(pool=pool, state=RequestState.WAITING).order_by("seq")
    return Preview(
        refused=str(refusal(stuck=", ".join(changed.stuck))) if changed.stuck else "",
        stuck=changed.stuck,
        served=tuple(event.process.label for event in changed.bank.events if event.kind == EventKind.GRANTED and event.process),
        waiting=tuple(waiting.values_list("process__label", flat=True)),
        would_wait=tuple(claim.label for pk, claim in before.claims.items() if pk in late),
    )
