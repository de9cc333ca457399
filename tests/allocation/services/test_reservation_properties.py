"""With reservations, the bank decides as if every order of the others were tried with what is
really free.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocation.models import Pool, Process
from allocation.rules.banker import BankVerdict, State, state_after_grant
from allocation.services.bank import Bank
from tests.allocation.rules.test_banker_properties import requests, some_order_finishes

pytestmark = pytest.mark.slow


#: five hundred for every push; all of them in the drill
@pytest.mark.parametrize("states", [500, pytest.param(1500, marks=pytest.mark.drill)])
def test_decisions_are_those_of_brute_force_over_the_others(states):
    settings(max_examples=states, deadline=None)(decides_as_brute_force_does)()


@given(requests(), st.data())
def decides_as_brute_force_does(case, data):
    state, requester, request = case
    kept = data.draw(
        st.sets(st.integers(0, len(state.maximum) - 1).filter(lambda i: i != requester))
    )
    # A process that holds nothing keeps nothing, and stands in no proof but its own.
    rows = [
        i
        for i in range(len(state.maximum))
        if i == requester or (any(state.allocation[i]) and i not in kept)
    ]
    others = [i for i in rows if any(state.allocation[i])]
    before = part(state, others)
    is_safe = some_order_finishes(before)

    verdict = bank_of(state, kept, is_safe=is_safe).verdict_on_row(requester, request)

    if any(asked > free for asked, free in zip(request, state.available, strict=True)):
        assert verdict is BankVerdict.WAIT_UNAVAILABLE
        return
    after = state_after_grant(part(state, rows), rows.index(requester), request)
    may_finish = all(
        need <= free for need, free in zip(state.need[requester], state.available, strict=True)
    )
    fine = some_order_finishes(after) or (not is_safe and may_finish)
    assert verdict is (BankVerdict.GRANT if fine else BankVerdict.WAIT_UNSAFE)


def part(state: State, rows: list[int]) -> State:
    return State(
        state.available,
        tuple(state.maximum[i] for i in rows),
        tuple(state.allocation[i] for i in rows),
    )


class BankOfRows(Bank):
    """A bank in memory, asked by row."""

    def verdict_on_row(self, row: int, request: tuple[int, ...]) -> BankVerdict:
        return self.verdict_on_request(self.processes[row], request).verdict


def bank_of(state: State, kept: set[int], *, is_safe: bool) -> BankOfRows:
    reserved = "2026-01-01"
    processes = {
        i: Process(
            pk=i,
            label=str(i),
            max_claim=list(most),
            allocated=list(held),
            kept_until=reserved if i in kept and any(held) else None,
        )
        for i, (most, held) in enumerate(zip(state.maximum, state.allocation, strict=True))
    }
    units = {str(j): "unit" for j in range(len(state.available))}
    return BankOfRows(
        Pool(is_safe=is_safe), units, processes, {}, state.available, has_waiters=False
    )
