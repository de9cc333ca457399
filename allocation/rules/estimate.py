"""Estimates of the times when waiting processes will be served, with their assumptions.

Pure: the caller passes times.

The pool is simulated. Each holder releases everything when its time is over: at the end of its
reservation, or after the usual time of its shifts. Each waiting process, in turn, is granted its
request as soon as possible, and holds the units for its usual time as well. The order in which the
holders finish is a safe sequence if each can finish by then. A holder without a known time is
assumed to release nothing. So an estimate is no promise, and is never shown without its
assumptions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import ceil

from allocation.rules import banker
from allocation.rules.banker import BankVerdict, State, Vector
from allocation.wording import first_few_in_words

#: the most waiting processes with an estimate, and the most simulated steps, since a page waits for
#: this
WAITERS_AT_MOST, STEPS_AT_MOST = 20, 60


@dataclass(frozen=True)
class HoldingTerm:
    #: seconds
    left: float
    #: the seconds of a usual shift; None if a reservation holds the units, which ends after `left`
    usual: float | None = None


@dataclass(frozen=True)
class HoldingProcess:
    id: int
    label: str
    maximum: Vector
    allocation: Vector
    #: the term; None if the process has never finished a shift, so that nothing is known
    term: HoldingTerm | None = None
    #: whether it waits in line and holds units only in the simulation
    is_ahead: bool = False
    share: int | None = None

    @property
    def is_reserved(self) -> bool:
        return self.term is not None and self.term.usual is None

    @cached_property
    def need(self) -> Vector:
        return banker.minus(self.maximum, self.allocation)


@dataclass(frozen=True)
class WaitingRequest:
    process: int
    label: str
    maximum: Vector
    amounts: Vector
    #: the seconds for which its process holds units once it is served, if known
    usual: float | None = None
    #: the units that must stay free besides its request; empty if none are reserved for urgent work
    leaves: Vector = ()
    #: the number of processes ahead of it in line, if that is more than the waiters here
    ahead: int = 0
    share: int | None = None


@dataclass(frozen=True)
class Estimate:
    #: None if it is unknown
    seconds: float | None
    #: the estimate with its assumptions, or the reason why there is none
    sentence: str

    @property
    def when(self) -> str:
        """`About 40 s`, without the assumptions."""
        return "No estimate yet" if self.seconds is None else _time_in_words(self.seconds)


def estimate_starts(
    available: Vector,
    tenants: Sequence[HoldingProcess],
    waiters: Sequence[WaitingRequest],
    *,
    is_naive: bool = False,
    keeps_turn: int | None = None,
    limits: Mapping[int, Vector] | None = None,
) -> list[Estimate]:
    """An estimate for each of `waiters`, which are in the order of their turns.

    A process may hold and wait.

    keeps_turn: the process whose request has been bypassed so often that no process without units
    may bypass it again. limits: by share, the most that its processes with units may claim
    together.
    """
    forecast = _BankForecast(available, tenants, is_naive=is_naive, limits=limits or {})
    served = forecast.serve(waiters[:WAITERS_AT_MOST], keeps_turn=keeps_turn)
    estimates = []
    for place, waiter in enumerate(waiters):
        if waiter.process in served:
            seconds, returned, passed = served[waiter.process]
            estimates.append(
                Estimate(seconds, _estimate_sentence(waiter, available, seconds, returned, passed))
            )
        elif place >= WAITERS_AT_MOST:
            estimates.append(
                Estimate(None, f"No estimate: {max(place, waiter.ahead)} are ahead in line.")
            )
        else:
            estimates.append(
                Estimate(None, _missing_term_sentence(waiter, available, tenants, waiters[:place]))
            )
    return estimates


def is_served_after_release(
    gone: Collection[int],
    available: Vector,
    tenants: Sequence[HoldingProcess],
    waiters: Sequence[WaitingRequest],
    *,
    is_naive: bool = False,
    keeps_turn: int | None = None,
    limits: Mapping[int, Vector] | None = None,
) -> bool:
    """Whether the last of `waiters` would be granted at once if the holders in `gone` gave
    everything back. Earlier waiters are served first.
    """
    asking = [one for one in waiters[:-1] if one.process not in gone] + [waiters[-1]]
    given = [tenant.allocation for tenant in tenants if tenant.id in gone]
    forecast = _BankForecast(
        reduce(banker.plus, given, available),
        [tenant for tenant in tenants if tenant.id not in gone],
        is_naive=is_naive,
        limits=limits or {},
    )
    return waiters[-1].process in forecast.serve(asking, keeps_turn=keeps_turn, steps=1)


class _BankForecast:
    """A simulation of the pool from now on. `clock` is the time in seconds."""

    def __init__(
        self,
        available: Vector,
        tenants: Sequence[HoldingProcess],
        *,
        is_naive: bool,
        limits: Mapping[int, Vector],
    ) -> None:
        self.limits = limits
        self.clock = 0.0
        self.available = available
        self.is_naive = is_naive
        self.holders = {tenant.id: tenant for tenant in tenants}
        self.ends = {tenant.id: tenant.term.left for tenant in tenants if tenant.term}
        self.returned: list[HoldingProcess] = []

    def serve(
        self,
        waiters: Sequence[WaitingRequest],
        *,
        keeps_turn: int | None,
        steps: int = STEPS_AT_MOST,
    ) -> dict[int, tuple[float, list[HoldingProcess], int]]:
        """For each waiter that is served: the time, the releases before it, and the number of
        earlier waiters served before it.
        """
        served: dict[int, tuple[float, list[HoldingProcess], int]] = {}
        left = list(waiters)
        for _ in range(steps):
            is_behind = False
            for waiter in list(left):
                is_kept_back = is_behind and waiter.process not in self.holders
                if is_kept_back or not self._is_grantable(waiter):
                    is_behind |= waiter.process == keeps_turn
                else:
                    ahead = sum(
                        1 for other in waiters[: waiters.index(waiter)] if other.process in served
                    )
                    served[waiter.process] = self.clock, list(self.returned), ahead
                    self._grant(waiter)
                    left.remove(waiter)
            if not left or not self.ends:
                break
            self._finish_next_holder()
        return served

    def _is_grantable(self, waiter: WaitingRequest) -> bool:
        beside = banker.plus(waiter.amounts, waiter.leaves) if waiter.leaves else waiter.amounts
        if not banker.fits(beside, self.available):
            return False
        if waiter.process not in self.holders and not self._is_within_share(waiter):
            return False
        if self.is_naive:
            return True
        rows = [
            tenant
            for tenant in self.holders.values()
            if tenant.id != waiter.process and not tenant.is_reserved
        ]
        own = self.holders.get(waiter.process)
        held = own.allocation if own else (0,) * len(self.available)
        # the pool's numbers were checked when they were read; checking them again in each step
        # would take longer than the search
        state = State.from_checked(
            self.available,
            (waiter.maximum, *(tenant.maximum for tenant in rows)),
            (held, *(tenant.allocation for tenant in rows)),
            (banker.minus(waiter.maximum, held), *(tenant.need for tenant in rows)),
        )
        return banker.decide(state, 0, waiter.amounts, state_is_safe=False) is BankVerdict.GRANT

    def _is_within_share(self, waiter: WaitingRequest) -> bool:
        limit = self.limits.get(waiter.share or 0)
        members = (one.maximum for one in self.holders.values() if one.share == waiter.share)
        return limit is None or banker.fits(reduce(banker.plus, members, waiter.maximum), limit)

    def _grant(self, waiter: WaitingRequest) -> None:
        self.available = banker.minus(self.available, waiter.amounts)
        before = self.holders.get(waiter.process)
        held = banker.plus(before.allocation, waiter.amounts) if before else waiter.amounts
        self.holders[waiter.process] = HoldingProcess(
            waiter.process,
            waiter.label,
            waiter.maximum,
            held,
            before.term if before else None,
            share=waiter.share,
        )
        if before is None and waiter.usual is not None:
            term = HoldingTerm(waiter.usual, waiter.usual)
            self.holders[waiter.process] = HoldingProcess(
                waiter.process,
                waiter.label,
                waiter.maximum,
                held,
                term,
                is_ahead=True,
                share=waiter.share,
            )
            self.ends[waiter.process] = self.clock + waiter.usual

    def _finish_next_holder(self) -> None:
        process = min(self.ends, key=lambda one: (self.ends[one], one))
        self.clock = max(self.clock, self.ends.pop(process))
        gone = self.holders.pop(process)
        self.available = banker.plus(self.available, gone.allocation)
        self.returned.append(gone)


def _estimate_sentence(
    waiter: WaitingRequest,
    available: Vector,
    seconds: float,
    returned: Sequence[HoldingProcess],
    passed: int,
) -> str:
    if not returned:
        return "Within seconds, if no other process requests the same first."
    wanted = _holders_of_missing(waiter, available, returned)
    unique = {tenant.id: tenant for tenant in wanted or returned}
    terms = first_few_in_words([_term_in_words(tenant) for tenant in unique.values()])
    ahead = (
        ""
        if not passed
        else f", and {'the one' if passed == 1 else f'the {passed}'} ahead in line "
        f"{'is' if passed == 1 else 'are'} served first"
    )
    return f"{_time_in_words(seconds)}, if {terms}{ahead}."


def _holders_of_missing(
    waiter: WaitingRequest, available: Vector, tenants: Sequence[HoldingProcess]
) -> list[HoldingProcess]:
    """The holders of units of the classes that have too few. If no class has too few, because the
    grant is unsafe, all holders: a release by any of them may make it safe.
    """
    short = [
        j
        for j, (asked, free) in enumerate(zip(waiter.amounts, available, strict=True))
        if asked > free
    ]
    return [
        tenant
        for tenant in tenants
        if tenant.id != waiter.process and (not short or any(tenant.allocation[j] for j in short))
    ]


def _term_in_words(tenant: HoldingProcess) -> str:
    assert tenant.term is not None
    if tenant.is_ahead and tenant.term.usual is not None:
        return (
            f"{tenant.label}, next in line, starts and releases its units after its usual "
            f"work session of {_span_in_words(tenant.term.usual)}"
        )
    if tenant.term.usual is None:
        return f"the reservation of {tenant.label} ends as set"
    if tenant.term.left <= 0:
        return (
            f"{tenant.label} releases its units soon: it has held them for longer than its usual "
            f"work session of {_span_in_words(tenant.term.usual)}"
        )
    return (
        f"{tenant.label} releases its units after its usual work session of "
        f"{_span_in_words(tenant.term.usual)}"
    )


def _missing_term_sentence(
    waiter: WaitingRequest,
    available: Vector,
    tenants: Sequence[HoldingProcess],
    ahead: Sequence[WaitingRequest],
) -> str:
    holders = _holders_of_missing(waiter, available, tenants)
    new = [tenant.label for tenant in holders if tenant.term is None]
    if not holders:
        return "No estimate: no process holds the missing units."
    if len(new) == len(holders):
        return "No estimate: no holder has finished a work session yet."
    if new:
        return (
            f"No estimate: {first_few_in_words(new)} {'has' if len(new) == 1 else 'have'} not "
            "finished a work session yet."
        )
    if late := [one.label for one in ahead if one.usual is None]:
        return (
            f"No estimate: {first_few_in_words(late)}, ahead in line, "
            f"{'has' if len(late) == 1 else 'have'} not finished a work session yet."
        )
    return (
        "No estimate: the units that the holders usually release are not enough, or not safe "
        "to grant."
    )


def _time_in_words(seconds: float) -> str:
    return "Any moment now" if seconds <= 0 else f"About {_span_in_words(seconds)}"


def _span_in_words(seconds: float) -> str:
    """A span of time in coarse steps: tens of seconds, then minutes, then hours."""
    if seconds < 10:
        return f"{max(1, ceil(seconds))} s"
    if seconds < 95:
        return f"{ceil(seconds / 10) * 10} s"
    if seconds < 90 * 60:
        return f"{ceil(seconds / 60)} min"
    return f"{seconds / 3600:.0f} h"
