"""Shares of a pool. A share is created when its group first has a process in the pool, and edited
while crawls run.

`allocation.rules.shares` defines reserve and limit.
"""

from __future__ import annotations

from collections.abc import Mapping

from allocation.errors import (
    ReserveExceedsLimit,
    ReservesExceedCapacity,
    ShareLimitBelowClaim,
    UnknownShare,
)
from allocation.models import EventKind, Process, ProcessState, Share
from allocation.rules.banker import Vector, plus
from allocation.rules.shares import NO_LIMIT, ShareTerms, exceeded_classes
from allocation.services.bank import Bank, locked_bank
from allocation.services.grants_on_release import grant_waiting_requests
from allocation.services.limits import ChangedLimits
from allocation.services.transaction import bank_transaction
from allocation.values import ShareLimits


@bank_transaction
def ensure_share(*, pool: int, ref: str, name: str) -> Share:
    """The share of the group that its owner knows by `ref`. A new share has neither reserve nor
    limit. The share's name follows the name that the owner uses. Raises UnknownPool.
    """
    known = Share.objects.filter(pool=pool, ref=ref, name=name).first()
    if known is not None:
        return known
    with locked_bank(pool) as bank:
        classes = len(bank.keys)
        share, _ = Share.objects.update_or_create(
            pool=bank.pool,
            ref=ref,
            defaults={"name": name},
            create_defaults={
                "name": name,
                "reserved": [0] * classes,
                "limits": [NO_LIMIT] * classes,
            },
        )
        return share


@bank_transaction
def change_share(*, share: int, limits: ShareLimits) -> Share:
    """Change the reserve and the limit of a share, all or nothing. Serve waiting processes that the
    new limits allow.

    A limit may be lowered below the claims: nothing is taken back, but no process starts until
    enough units are released. Raises UnknownShare, ShareLimitBelowClaim, ReserveExceedsLimit,
    ReservesExceedCapacity and the errors of `vector`; then nothing has changed.
    """
    put_share(share, limits)
    return Share.objects.get(pk=share)


def put_share(share: int, limits: ShareLimits) -> ChangedLimits:
    """Do the same as `change_share`, but within the caller's transaction on the pool."""
    pool = Share.objects.filter(pk=share).values_list("pool", flat=True).first()
    if pool is None:
        raise UnknownShare(share=share)
    with locked_bank(pool) as bank:
        old = bank.shares[share]
        new = ShareTerms(
            old.name,
            _changed_vector(bank, old.reserved, limits.reserved),
            _changed_vector(
                bank,
                old.limits,
                {key: NO_LIMIT if n is None else n for key, n in limits.limits.items()},
            ),
        )
        _check_terms(bank, share, new)
        bank.shares[share] = new
        Share.objects.filter(pk=share).update(reserved=list(new.reserved), limits=list(new.limits))
        if new.reserved != old.reserved:
            bank.log_event(
                EventKind.SHARE_RESERVED, amounts=new.reserved, share=share, reason=new.name
            )
        if new.limits != old.limits:
            bank.log_event(
                EventKind.SHARE_LIMITED, amounts=new.limits, share=share, reason=new.name
            )
        grant_waiting_requests(bank)
    return ChangedLimits(bank)


def _changed_vector(bank: Bank, old: Vector, named: Mapping[str, int]) -> Vector:
    new = bank.vector(named)
    return tuple(new[j] if key in named else old[j] for j, key in enumerate(bank.keys))


def _check_terms(bank: Bank, share: int, new: ShareTerms) -> None:
    for j in exceeded_classes(new.reserved, new.limits):
        raise ReserveExceedsLimit(
            resource=bank.keys[j], reserve=new.reserved[j], limit=new.limits[j]
        )
    reserved = new.reserved
    for other, terms in bank.shares.items():
        reserved = reserved if other == share else plus(reserved, terms.reserved)
    if new.reserved != bank.shares[share].reserved:
        for j in exceeded_classes(reserved, tuple(bank.pool.capacity)):
            raise ReservesExceedCapacity(
                resource=bank.keys[j], reserves=reserved[j], capacity=bank.pool.capacity[j]
            )
    active = Process.objects.filter(share=share, state=ProcessState.ACTIVE).order_by("pk")
    for label, claim in active.values_list("label", "max_claim"):
        for j in exceeded_classes(tuple(claim), new.limits):
            raise ShareLimitBelowClaim(
                resource=bank.keys[j], limit=new.limits[j], process=label, claim=claim[j]
            )
