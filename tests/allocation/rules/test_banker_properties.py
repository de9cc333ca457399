"""The decisions against the definition: every order is tried."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from allocation.rules.banker import BankVerdict, State, decide, find_safe_sequence, granted, minus
from tests.allocation.rules.states import some_order_finishes
from tests.allocation.rules.test_banker import is_order

pytestmark = pytest.mark.slow

# 5 * 10^3 states in all: the size of AC2 for every push. The full size runs with `make drill`.
thousand = settings(max_examples=1000, deadline=None)


@st.composite
def states(draw: st.DrawFn, least: int = 0) -> State:
    """Up to 5 processes and 4 classes; about half of them safe."""
    m, n = draw(st.integers(1, 4)), draw(st.integers(least, 5))
    vector = st.tuples(*[st.integers(0, 4)] * m)
    allocation = draw(st.tuples(*[vector] * n))
    extra = draw(st.tuples(*[vector] * n))
    maximum = tuple(
        tuple(a + b for a, b in zip(held, more, strict=True))
        for held, more in zip(allocation, extra, strict=True)
    )
    return State(draw(vector), maximum, allocation)


@st.composite
def requests(draw: st.DrawFn) -> tuple[State, int, tuple[int, ...]]:
    """A state, a row, and a request within Need."""
    state = draw(states(least=1))
    process = draw(st.integers(0, len(state.maximum) - 1))
    return state, process, draw(st.tuples(*[st.integers(0, most) for most in state.need[process]]))


@thousand
@given(states())
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
    fine = some_order_finishes(granted(state, process, request)) or (not safe and may_finish)
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
