"""The decisions against the definition: every order is tried."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from allocation.rules.banker import (
    BankVerdict,
    State,
    decide,
    find_safe_sequence,
    minus,
    state_after_grant,
)
from tests.allocation.rules.states import small, some_order_finishes
from tests.allocation.rules.test_banker import is_order

pytestmark = pytest.mark.slow

# 5 * 10^3 states in all: the size of AC2 for every push. The full size runs with `make drill`.
thousand = settings(max_examples=1000, deadline=None)


#: from a seed each: to draw every number by itself takes most of the time
STATES = st.builds(small, st.integers(0, 2**63).map(Random))


@st.composite
def requests(draw: st.DrawFn) -> tuple[State, int, tuple[int, ...]]:
    """A state, a row, and a request within Need."""
    random = Random(draw(st.integers(0, 2**63)))
    state = small(random)
    assume(state.maximum)
    process = random.randrange(len(state.maximum))
    return state, process, tuple(random.randint(0, most) for most in state.need[process])


@thousand
@given(STATES)
def test_agrees_with_the_definition(state):
    found = find_safe_sequence(state)

    assert (found is not None) == some_order_finishes(state)
    assert found is None or is_order(state, tuple(found))


@settings(thousand, max_examples=3000)
@given(requests())
def test_decision_is_the_definitions(case):
    state, process, request = case
    safe = some_order_finishes(state)
    verdict = decide(state, process, request, state_is_safe=safe)

    if any(asked > free for asked, free in zip(request, state.available, strict=True)):
        assert verdict is BankVerdict.WAIT_UNAVAILABLE
        return
    may_finish = all(
        need <= free for need, free in zip(state.need[process], state.available, strict=True)
    )
    fine = some_order_finishes(state_after_grant(state, process, request)) or (
        not safe and may_finish
    )
    assert verdict is (BankVerdict.GRANT if fine else BankVerdict.WAIT_UNSAFE)


@thousand
@given(requests())
def test_release_keeps_a_safe_order(case):
    state, process, given_back = case
    order = find_safe_sequence(state)
    assume(order is not None)
    back = tuple(map(min, given_back, state.allocation[process]))
    allocation = list(state.allocation)
    allocation[process] = minus(allocation[process], back)

    after = State(
        tuple(a + b for a, b in zip(state.available, back, strict=True)),
        state.maximum,
        tuple(allocation),
    )

    assert is_order(after, tuple(order))
