"""The turns of a pool: which process may be granted free and safe units while others have waited
longer. Pure.

A strict queue deadlocks: its head waits for units of a holder that is behind it in the queue. So
turns bind only processes without units. A process with units is never refused here: it can finish,
and then releases them. Four rules:

- *Bypass limit.* Waiters are served in turn, passing over those that can't be served yet. Once the
  first in turn has been passed `limit` times, a process that holds nothing may no longer pass it.
  Only processes that had units at that moment still can, a bounded number of times before they
  finish; the units that they release stay free until the first request fits. A request that has to
  wait for the limit of its share is first only within its share: otherwise it would keep all others
  from units that it may not have.
- *Priority ages.* A start of priority p takes its turn as if it had arrived p * LIFT earlier. So
  all requests rise equally as they wait. A later start overtakes a waiting one only if it comes
  within (highest priority - priority of the waiting one) * LIFT, which is at most 20 minutes.
- *Reserve.* The last `reserved` units of a class are left to urgent starts, and the units that
  other shares have set aside to those shares, unless a start could otherwise never be served.
- *Limit of a share.* See `allocation.rules.shares`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from allocation.rules.banker import BankVerdict, Vector, fits, minus, plus
from allocation.rules.shares import ShareUse

PRIORITIES = range(-10, 11)
URGENT = 10
LIFT = timedelta(minutes=1)


class QueueVerdict(Enum):
    """The answer to a request that the banker would grant and that the rules of turns keep back."""

    WAIT_TURN = "wait_turn"
    WAIT_RESERVED = "wait_reserved"
    WAIT_SHARE = "wait_share"


AnyVerdict = BankVerdict | QueueVerdict


def read_verdict(value: str) -> AnyVerdict:
    """Read a verdict as it is stored. Raises ValueError."""
    return (
        QueueVerdict(value)
        if value in {member.value for member in QueueVerdict}
        else BankVerdict(value)
    )


@dataclass(frozen=True)
class QueuedRequest:
    amounts: Vector
    holds: bool
    priority: int = 0
    #: the Max of its process, and the most that its share has left; None if no limit applies
    claim: Vector = ()
    room: Vector | None = None
    #: the units that other shares have reserved; empty if there are none
    set_aside: Vector = ()

    @classmethod
    def from_share_use(
        cls,
        amounts: Vector,
        claim: Vector,
        use: ShareUse,
        share: int | None,
        *,
        holds: bool,
        priority: int,
    ) -> QueuedRequest:
        return cls(
            amounts, holds, priority, claim, use.claim_left(share), use.units_set_aside(share)
        )

    @property
    def is_within_share(self) -> bool:
        return self.room is None or fits(self.claim, self.room)

    @property
    def turn_advance(self) -> timedelta:
        """The time by which its turn precedes its arrival.

        Holders get none, since the rules of turns never keep them waiting.
        """
        return timedelta(0) if self.holds else LIFT * self.priority


@dataclass(frozen=True)
class TurnRules:
    """A pool's rules of turns: its bypass limit, and the units of each class that are reserved for
    urgent starts.
    """

    limit: int
    capacity: Vector
    reserved: Vector


def turn_refusal(
    rules: TurnRules, asker: QueuedRequest, available: Vector, *, passed: int | None
) -> QueueVerdict | None:
    """The reason why `asker` may not be granted free and safe units, if there is one.

    passed: the number of bypasses of the first process ahead of it in turn; None if no process is
    ahead.
    """
    if asker.holds:
        return None
    if not asker.is_within_share:
        return QueueVerdict.WAIT_SHARE
    if passed is not None and passed >= rules.limit:
        return QueueVerdict.WAIT_TURN
    if not fits(units_kept_back(rules, asker), minus(available, asker.amounts)):
        return QueueVerdict.WAIT_RESERVED
    return None


def units_kept_back(rules: TurnRules, asker: QueuedRequest) -> Vector:
    """The units that must stay free besides a request of a process that holds nothing."""
    none = (0,) * len(rules.capacity)
    if asker.holds:
        return none
    urgent = none if asker.priority >= URGENT else rules.reserved
    kept = plus(urgent, asker.set_aside or none)
    return tuple(
        min(units, max(0, capacity - asked)) if asked else 0
        for units, capacity, asked in zip(kept, rules.capacity, asker.amounts, strict=True)
    )
