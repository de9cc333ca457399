"""Find the holders whose release would end a wait, and claims that no release can satisfy. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from allocation.rules import banker
from allocation.rules.banker import BankVerdict, State, Vector, fits, plus
from allocation.rules.remedies import ALONE, cheapest_release
from allocation.wording import NAMES_AT_MOST, first_few_in_words, joined_in_words


@dataclass(frozen=True)
class HoldingParty:
    label: str
    allocation: Vector
    #: the row in the State; None if the holder's units are reserved, and it therefore has no row
    row: int | None


def capacity_of_classes(state: State, holders: Collection[HoldingParty]) -> Vector:
    """The capacity of each class: free, held and reserved units."""
    units = state.available
    for held in state.allocation:
        units = plus(units, held)
    for holder in holders:
        if holder.row is None:
            units = plus(units, holder.allocation)
    return units


def sufficient_holders(
    state: State,
    holders: Sequence[HoldingParty],
    process: int,
    request: Vector,
    short: Collection[int],
) -> str:
    """The holders whose release ends the wait, in words: any one of them (` by a or b`), or several
    together (` by a and b together`). Empty if not even all together would.

    short: the classes with too few units; the holder with the most of these is named first. Takes
    at most some hundred safety checks, however many processes hold units.
    """
    cost = {i: -float(sum(one.allocation[j] for j in short)) for i, one in enumerate(holders)}
    ordered = sorted(cost, key=lambda i: (cost[i], i))

    def is_wait_over_after(gone: frozenset[int]) -> bool:
        return _is_granted_after_release([holders[i] for i in gone], state, process, request)

    alone = [holders[i].label for i in ordered[:ALONE] if is_wait_over_after(frozenset([i]))]
    if alone:
        is_more = len(alone) > NAMES_AT_MOST or len(ordered) > ALONE
        return f" by {joined_in_words([*alone[:NAMES_AT_MOST], *['others'] * is_more], last='or')}"
    chosen = cheapest_release(cost, is_wait_over_after)
    if not chosen:
        return ""
    everyone = frozenset(ordered)
    is_only_way = not any(is_wait_over_after(everyone - {i}) for i in chosen)
    example = "" if is_only_way else ", for example"
    names = first_few_in_words([holders[i].label for i in sorted(chosen, key=ordered.index)])
    return f"{example} by {names} together"


def _is_granted_after_release(
    gone: Sequence[HoldingParty], state: State, process: int, request: Vector
) -> bool:
    """Whether the request could be granted if the processes in `gone` had given back everything and
    made no more requests.
    """
    available = state.available
    for holder in gone:
        available = plus(available, holder.allocation)
    if not fits(request, available):
        return False
    rows = {holder.row for holder in gone}
    left = [i for i in range(len(state.maximum)) if i not in rows]
    after = State.from_checked(
        available,
        tuple(state.maximum[i] for i in left),
        tuple(state.allocation[i] for i in left),
        tuple(state.need[i] for i in left),
    )
    verdict = banker.decide(after, left.index(process), request, state_is_safe=False)
    return verdict is BankVerdict.GRANT
