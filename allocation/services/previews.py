"""What a change of limits would do. The change is made by the same code as in earnest, and rolled back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.db import transaction

from allocation.errors import AllocationError
from allocation.models import EventKind, Process, ProcessState, ResourceClass
from allocation.services.bank import Bank
from allocation.services.pools import put_capacity, put_claim
from allocation.services.transaction import bank_transaction
from allocation.values import Preview


@bank_transaction
def preview_capacity(*, pool: int, capacity: Mapping[str, int]) -> Preview:
    """What `set_capacity` would do now. Nothing changes."""
    return _tried(lambda: put_capacity(pool, capacity), _misfits(pool, capacity))


@bank_transaction
def preview_claim(*, process: int, maximum: Mapping[str, int]) -> Preview:
    """What `change_claim` would do now. Nothing changes."""
    return _tried(lambda: put_claim(process, maximum))


def _tried(change: Callable[[], Bank], misfits: tuple[str, ...] = ()) -> Preview:
    try:
        bank = change()
    except AllocationError as error:
        return Preview(str(error), str(error.facts.get("resource", "")), misfits)
    finally:
        transaction.set_rollback(True)
    granted = [event.process for event in bank.events if event.kind == EventKind.GRANTED]
    return Preview(misfits=misfits, served=tuple(process.label for process in granted if process))


def _misfits(pool: int, capacity: Mapping[str, int]) -> tuple[str, ...]:
    places = dict(ResourceClass.objects.filter(pool=pool).values_list("key", "ordinal"))
    claims = Process.objects.filter(pool=pool, state=ProcessState.ACTIVE).order_by("pk").values_list("label", "max_claim")
    return tuple(label for label, claim in claims if any(claim[places[key]] > units for key, units in capacity.items() if key in places))
