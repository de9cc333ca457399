"""Sentences about the reason why a request waits, the processes that hold the units, and the event
that will end the wait. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from allocation.rules import banker
from allocation.rules.banker import BankVerdict, State, Vector, fits, plus
from allocation.rules.fairness import (
    URGENT,
    AnyVerdict,
    QueuedRequest,
    QueueVerdict,
    TurnRules,
    units_kept_back,
)
from allocation.rules.shares import ShareUse, exceeded_classes
from allocation.wait_ends import HoldingParty, capacity_of_classes, sufficient_holders
from allocation.wording import UnitWords, clock_text, first_few_in_words, joined_in_words


@dataclass(frozen=True)
class Party:
    id: int
    label: str
    allocation: Vector
    #: the time when it began to hold them, if known
    since: datetime | None = None
    #: the end of the reservation of its units, if they are reserved
    kept_until: datetime | None = None


@dataclass(frozen=True)
class Parties:
    """The processes and classes of the rows and columns of a State, in the same order. Also the
    processes that keep units and have no row in the State.
    """

    rows: tuple[Party, ...]
    measures: tuple[UnitWords, ...]
    kept: tuple[Party, ...] = ()


@dataclass(frozen=True)
class Blocker:
    """A process with units of a class that has too few."""

    process: int
    label: str
    key: str
    units: int
    amount: str = ""
    since: datetime | None = None
    #: set if the units are reserved while the process is paused
    kept_until: datetime | None = None


@dataclass(frozen=True)
class ShortClass:
    """A class in which too few units are free or sure to be released, and the number of missing
    units.
    """

    key: str
    units: int
    amount: str


@dataclass(frozen=True)
class StuckProcess:
    """A process that could not be sure to finish after the grant, and the classes of which it might
    lack units.
    """

    process: int
    label: str
    keys: tuple[str, ...]
    names: str


@dataclass(frozen=True)
class Explanation:
    verdict: AnyVerdict
    why: str
    blockers: tuple[Blocker, ...]
    #: returns the event that ends the wait; called only when the text is read, since it may take
    #: many safety checks
    ending: Callable[[], str] = field(compare=False)
    short: tuple[ShortClass, ...] = ()
    stuck: tuple[StuckProcess, ...] = ()
    #: whether the request or the claim exceeds the capacity of the pool, so that no release ends
    #: the wait
    is_beyond_pool: bool = False

    @cached_property
    def what_ends_it(self) -> str:
        return self.ending()

    @property
    def reason(self) -> str:
        is_about_holders = isinstance(self.verdict, BankVerdict) and not self.is_beyond_pool
        if self.verdict is BankVerdict.GRANT or not is_about_holders:
            return self.why
        holders = first_few_in_words(
            [_first_blocker_in_words(blockers) for blockers in _blockers_by_holder(self.blockers)]
        )
        return (
            f"{self.why} Held by {holders}."
            if holders
            else f"{self.why} No other process holds any."
        )


def explain(
    state: State, parties: Parties, process: int, request: Vector, verdict: BankVerdict
) -> Explanation:
    """Explain `verdict`, which is the answer to `request` by `process` (a row of `state`)."""
    if verdict is BankVerdict.WAIT_UNAVAILABLE:
        return _explain_unavailable(state, parties, process, request)
    if verdict is BankVerdict.WAIT_UNSAFE:
        return _explain_unsafe(state, parties, process, request)
    return Explanation(
        BankVerdict.GRANT,
        "The request can be granted now.",
        (),
        lambda: "It is granted within seconds.",
    )


@dataclass(frozen=True)
class FirstInTurn:
    label: str
    since: datetime
    passed: int


@dataclass(frozen=True)
class OwnShare:
    use: ShareUse
    own: int | None


def explain_turns(
    verdict: QueueVerdict,
    rules: TurnRules,
    asker: QueuedRequest,
    measures: Sequence[UnitWords],
    ahead: FirstInTurn | None,
    shares: OwnShare,
) -> Explanation:
    """The reason why a request must wait although its units are free and the grant would be safe.

    ahead: the process whose turn it is.
    """
    if verdict is QueueVerdict.WAIT_SHARE and shares.own is not None:
        return _explain_share_limit(asker, measures, shares.use, shares.own)
    if verdict is QueueVerdict.WAIT_TURN and ahead is not None:
        times = "once" if ahead.passed == 1 else f"{ahead.passed:,} times"
        return Explanation(
            verdict,
            f"Enough is free, and it would be safe, but it is the turn of {ahead.label}, which "
            f"waits since {clock_text(ahead.since)} and was overtaken {times} (limit "
            f"{rules.limit:,}): until it is served, only processes that hold units overtake it.",
            (),
            lambda: f"Ends when {ahead.label} is served or withdraws its request.",
        )
    kept = joined_in_words(
        [
            measure.amount(units)
            for measure, units in zip(measures, units_kept_back(rules, asker), strict=True)
            if units
        ]
    )
    for_urgent = ["urgent work"] if any(rules.reserved) and asker.priority < URGENT else []
    whom = (
        first_few_in_words([*for_urgent, *shares.use.reserving_shares(shares.own)]) or "urgent work"
    )
    return Explanation(
        verdict,
        f"Enough is free, but the last {kept} are reserved for {whom}.",
        (),
        lambda: "Ends when more is released.",
    )


def _explain_share_limit(
    asker: QueuedRequest, measures: Sequence[UnitWords], use: ShareUse, own: int
) -> Explanation:
    terms, claimed = use.terms[own], use.claimed_units(own)
    short = exceeded_classes(plus(claimed, asker.claim), terms.limits)
    parts = [
        f"{measures[j].amount(terms.limits[j])} ({measures[j].number(claimed[j])} claimed, "
        f"{measures[j].number(asker.claim[j])} more requested)"
        for j in short
    ]
    holders = first_few_in_words(use.holders(own), last="or") or "none of them holds units"
    return Explanation(
        QueueVerdict.WAIT_SHARE,
        f"Enough is free, but the limit of {terms.name} is {joined_in_words(parts)}.",
        (),
        lambda: f"Ends when a process of {terms.name} releases all its units: {holders}.",
        short=_short_classes(
            measures, {j: claimed[j] + asker.claim[j] - terms.limits[j] for j in short}
        ),
    )


def _explain_unavailable(
    state: State, parties: Parties, process: int, request: Vector
) -> Explanation:
    short = {
        j: r - s for j, (r, s) in enumerate(zip(request, state.available, strict=True)) if r > s
    }
    others = _other_holders(parties, process)
    units = capacity_of_classes(state, others)
    if any(request[j] > units[j] for j in short):
        return _explain_beyond_pool(
            BankVerdict.WAIT_UNAVAILABLE, "Needs", request, units, parties.measures
        )
    holders = [party for i, party in enumerate(parties.rows) if i != process]
    blockers = _blockers([*holders, *parties.kept], parties.measures, short)
    parts = [
        _amount_beside_free(parties.measures[j], request[j], state.available[j], units[j])
        for j in short
    ]
    missing = joined_in_words([parties.measures[j].amount(lack) for j, lack in short.items()])
    return Explanation(
        BankVerdict.WAIT_UNAVAILABLE,
        f"Waits for {' and '.join(parts)}.",
        blockers,
        lambda: (
            f"Ends with the release of {missing}"
            f"{sufficient_holders(state, others, process, request, short)}."
        ),
        short=_short_classes(parties.measures, short),
    )


def _amount_beside_free(measure: UnitWords, wanted: int, free: int, units: int) -> str:
    """`1 worker (0 of 2 free)`. If both amounts would have the same words after rounding, the
    shortage is stated.
    """
    looks_equal = measure.number(wanted) == measure.number(free)
    short = f", {measure.number(wanted - free)} short" if looks_equal else ""
    return f"{measure.amount(wanted)} ({measure.part(free, units)} free{short})"


def _other_holders(parties: Parties, process: int) -> list[HoldingParty]:
    rows = [
        HoldingParty(party.label, party.allocation, i)
        for i, party in enumerate(parties.rows)
        if i != process and any(party.allocation)
    ]
    return rows + [HoldingParty(party.label, party.allocation, None) for party in parties.kept]


def _explain_beyond_pool(
    verdict: BankVerdict, who: str, wanted: Vector, units: Vector, measures: Sequence[UnitWords]
) -> Explanation:
    """The explanation for a process, `who`, that wants more than the capacity, counting the units
    that it holds.
    """
    beyond = {j: w - u for j, (w, u) in enumerate(zip(wanted, units, strict=True)) if w > u}
    parts = [
        f"{measures[j].amount(wanted[j])}, but the pool has {measures[j].number(units[j])}"
        for j in beyond
    ]
    whose = "claim" if who == "Needs" else f"claim of {who.removesuffix(' claims')}"
    return Explanation(
        verdict,
        f"{who} {'; and '.join(parts)}. No release is enough.",
        (),
        lambda: f"Ends when the {whose} is lowered or the capacity raised.",
        short=_short_classes(measures, beyond),
        is_beyond_pool=True,
    )


def _explain_unsafe(state: State, parties: Parties, process: int, request: Vector) -> Explanation:
    """The processes that finish in the state that the grant would make, and those that would be
    stuck, with the classes that they lack.
    """
    after = banker.state_after_grant(state, process, request)
    order = banker.finishable_processes(after)
    work = banker.work_vectors(after, order)[-1]
    stuck = [i for i in range(len(parties.rows)) if i not in order]
    # from a safe state the requester is always among the stuck processes; from a flagged state it
    # may not be
    first = process if process in stuck else stuck[0]
    others = _other_holders(parties, process)
    units = capacity_of_classes(state, others)
    for row in (first, *stuck):
        if not fits(state.maximum[row], units):
            who = f"{parties.rows[row].label} claims"
            return _explain_beyond_pool(
                BankVerdict.WAIT_UNSAFE, who, state.maximum[row], units, parties.measures
            )
    short = {
        j: n - w for j, (n, w) in enumerate(zip(after.need[first], work, strict=True)) if n > w
    }
    blockers = _blockers(
        [*(parties.rows[i] for i in stuck if i != first), *parties.kept], parties.measures, short
    )
    parts = [
        f"{parties.measures[j].amount(after.need[first][j])} with only "
        f"{parties.measures[j].number(work[j])} sure to be released"
        for j in short
    ]
    names = joined_in_words([parties.measures[j].name for j in short])
    rivals = [parties.rows[i].label for i in stuck if i != process]
    harm = (
        f"{first_few_in_words([*rivals, 'this process'])} could block each other forever"
        if rivals
        else "it could wait for as long as they are reserved"
    )
    return Explanation(
        BankVerdict.WAIT_UNSAFE,
        "Enough is free, but it would not be safe: after this grant "
        f"{parties.rows[first].label} could still request "
        f"{joined_in_words(parts)}, so {harm}.",
        blockers,
        lambda: (
            f"Ends with the release of {names}"
            f"{sufficient_holders(state, others, process, request, short)}. Lower claims of "
            f"{names} would make the grant safe."
        ),
        short=_short_classes(parties.measures, short),
        stuck=tuple(_stuck_process(after, parties, i, work) for i in stuck),
    )


def _short_classes(
    measures: Sequence[UnitWords], short: Mapping[int, int]
) -> tuple[ShortClass, ...]:
    return tuple(
        ShortClass(measures[j].key, units, measures[j].amount(units)) for j, units in short.items()
    )


def _stuck_process(after: State, parties: Parties, row: int, work: Vector) -> StuckProcess:
    party, lacks = (
        parties.rows[row],
        [
            j
            for j, (need, free) in enumerate(zip(after.need[row], work, strict=True))
            if need > free
        ],
    )
    names = joined_in_words([parties.measures[j].name for j in lacks])
    return StuckProcess(party.id, party.label, tuple(parties.measures[j].key for j in lacks), names)


def _blockers(
    holders: Iterable[Party], measures: Sequence[UnitWords], short: Iterable[int]
) -> tuple[Blocker, ...]:
    """The `holders` with units of the classes that have too few, for each class the largest holder
    first.
    """
    found = [
        (
            j,
            -units,
            Blocker(
                one.id,
                one.label,
                measures[j].key,
                units,
                measures[j].amount(units),
                one.since,
                one.kept_until,
            ),
        )
        for one in holders
        for j in short
        if (units := one.allocation[j])
    ]
    return tuple(blocker for _, _, blocker in sorted(found, key=lambda entry: entry[:2]))


def _blockers_by_holder(blockers: Iterable[Blocker]) -> list[list[Blocker]]:
    """The classes of each holder together, the holders in the order of their first class."""
    found: dict[int, list[Blocker]] = {}
    for blocker in blockers:
        found.setdefault(blocker.process, []).append(blocker)
    return list(found.values())


def _first_blocker_in_words(blockers: Sequence[Blocker]) -> str:
    one, amount = blockers[0], joined_in_words([blocker.amount for blocker in blockers])
    if one.kept_until:
        return f"{one.label} ({amount}, reserved until {clock_text(one.kept_until)})"
    since = f" since {clock_text(one.since)}" if one.since else ""
    return f"{one.label} ({amount}{since})"
