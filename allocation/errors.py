"""Refusals of a pool.

Pages, endpoints and commands catch the root, `AllocationError`. The docstring is the message.
"""

from __future__ import annotations

from collections.abc import Mapping


class AllocationError(Exception):
    """The pool cannot do this as it stands."""

    def __init__(self, **facts: object) -> None:
        self.facts = facts
        super().__init__(self._message_with_facts(facts))

    @property
    def field_message(self) -> str:
        """The message for a place that already names the resource."""
        return self._message_with_facts(
            {name: fact for name, fact in self.facts.items() if name != "resource"}
        )

    @property
    def message(self) -> str:
        """The message without the facts."""
        return " ".join((self.__doc__ or "").split())

    def _message_with_facts(self, facts: Mapping[str, object]) -> str:
        message = self.message
        tail = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items())
        return f"{message} ({tail})" if tail else message


class UnknownPool(AllocationError):
    """There is no such pool."""


class UnknownEvent(AllocationError):
    """The pool's ledger has no such event."""


class LedgerUnreadable(AllocationError):
    """The ledger cannot be replayed so far; `manage.py audit_allocation` tells more."""


class UnknownProcess(AllocationError):
    """There is no such process in a pool; register it first."""


class UnknownRequest(AllocationError):
    """There is no such request."""


class UnknownResource(AllocationError):
    """The pool has no such resource class; name one of those it has."""


class BadClasses(AllocationError):
    """A pool needs at least one resource class, each with a key of its own and a capacity that is
    not negative.
    """


class ClassesMissing(AllocationError):
    """Say how many units the new pool has of each class, of some perhaps 0."""


class BadAmount(AllocationError):
    """Amounts are whole numbers from 0 up; correct the one named."""


class BadPriority(AllocationError):
    """A priority is a whole number from -10 to 10."""


class BadBypassLimit(AllocationError):
    """A bypass limit is a whole number from 0 to 10,000."""


class ClaimNotWhole(AllocationError):
    """In this pool all is asked for at once: ask for the whole claim, or lower the claim first."""


class EmptyRequest(AllocationError):
    """A request asks for at least one unit of something."""


class BadDeadline(AllocationError):
    """A deadline is a number of seconds above 0."""


class ClaimExceedsCapacity(AllocationError):
    """A process may not claim more of a class than the pool has; lower the claim or raise the
    capacity.
    """


class UnknownShare(AllocationError):
    """There is no such share in the pool."""


class ClaimExceedsShare(AllocationError):
    """A process may not claim more than the limit of its share leaves; claim less, raise the limit
    or wait until others of the share have ended.
    """


class ShareLimitBelowClaim(AllocationError):
    """A process of this share claims more than this; lower its claim, finish it or choose a higher
    limit.
    """


class ReserveExceedsLimit(AllocationError):
    """A share cannot reserve more than its own limit; lower the reserve or raise the limit."""


class ReservesExceedCapacity(AllocationError):
    """The reserves of all shares together are more than the pool has; lower one of them."""


class ClaimBelowHoldings(AllocationError):
    """A claim cannot fall below what the process holds or waits for; release units or cancel the
    request first.
    """


class ClaimWouldBeUnsafe(AllocationError):
    """With this claim not every process could be sure to finish; claim less, or wait until others
    have released.
    """


class CapacityBelowUse(AllocationError):
    """More units than this are in use; wait for a release or choose a higher capacity."""


class CapacityBelowClaim(AllocationError):
    """A registered process claims more than this; lower its claim, finish it or choose a higher
    capacity.
    """


class CapacityWouldBeUnsafe(AllocationError):
    """With this capacity not every process could be sure to finish; choose a higher one or wait for
    a release.
    """


class OverrideNeedsReason(AllocationError):
    """To put up with an unsafe state takes a reason, which is recorded; say why it must be."""


class ClassKeyTaken(AllocationError):
    """The pool has a resource class of that key already; choose another."""


class RequestExceedsNeed(AllocationError):
    """More was requested than the declared maximum still allows; ask for less or raise the
    claim."""


class RequestIdReused(AllocationError):
    """This request id belongs to another request; each request needs a fresh one."""


class ReleaseIdReused(AllocationError):
    """This release id belongs to another release; each release needs a fresh one."""


class ReleaseExceedsAllocation(AllocationError):
    """A process cannot give back more than it holds; the release was not made."""


class AlreadyWaiting(AllocationError):
    """The process has a request that waits; cancel that or await its outcome before asking
    again."""


class AlreadyStarted(AllocationError):
    """The process has a live shift or holds units; a start is asked only by one that has
    neither."""


class StaleEpoch(AllocationError):
    """The shift that asks is over: its lease ended, or a later shift has taken its place.

    Stop its work.
    """


class ProcessFinished(AllocationError):
    """The process has finished and asks for nothing more; register a new one."""


class BadKeepTime(AllocationError):
    """Units are reserved for more than 0 seconds and at most a day."""


class NothingToKeep(AllocationError):
    """The process holds nothing that could be reserved."""


class KeepWouldBeUnsafe(AllocationError):
    """Without these units not every other process could be sure to finish; give them back
    instead."""


class NotKept(AllocationError):
    """Nothing is reserved for the process any more; ask for a start."""


class ResumeWouldBeUnsafe(AllocationError):
    """While other units are reserved, not every process could be sure to finish if this one
    continued with what it kept.
    """


class BankBusy(AllocationError):
    """The pool stayed locked by others through every attempt; try again shortly."""


class WrongIsolation(AllocationError):
    """Transactions of a pool run at READ COMMITTED: any other level would read processes as they
    were before the lock.
    """


class LedgerBroken(AllocationError):
    """The open grants of a process do not add up to what it holds; stop the workers and look at the
    event log.
    """


class PoolNameTaken(AllocationError):
    """There is a pool of that name already; choose another."""


class BadPolicy(AllocationError):
    """A pool's policy is `banker` or `naive`."""
