"""The page shows the safety check as the bank does it."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from allocation.rules import banker
from allocation.rules.banker import State
from allocation.whatif.proofs import (
    MOST_ORDERS,
    check_in_both_scopes,
    safe_orders,
    search_with_comparisons,
)
from tests.allocation.textbook import CASES, REQUESTS, S1, Case, rows
from tests.allocation.whatif.states import sandboxes

small = sandboxes(most=4).map(lambda sandbox: sandbox.state)


@given(small)
def test_the_search_shown_is_the_bank_s(state):
    shown = search_with_comparisons(state)

    assert list(shown.order) == banker.finishable_processes(state)
    assert shown.comparisons == len(shown.looks)
    assert shown.work == banker.work_vectors(state, shown.order)[-1]
    assert all(look.fits == banker.fits(look.need, look.work) for look in shown.looks)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_safe_orders_are_counted_as_in_the_books(case: Case):
    count, shown = safe_orders(case.state)

    assert count == case.orders
    assert len(shown) == min(MOST_ORDERS, count)
    assert all(banker.work_vectors(case.state, order) for order in shown)


@given(small)
def test_every_safe_order_is_found_once(state):
    count, shown = safe_orders(state)

    assert count == sum(
        is_safe_order(state, order) for order in permutations(range(len(state.maximum)))
    )
    assert len(set(shown)) == len(shown)


def is_safe_order(state: State, order: tuple[int, ...]) -> bool:
    try:
        return bool(banker.work_vectors(state, order))
    except ValueError:
        return False


def requests_of(state: State):
    """Requests that can be handed out: a process, and at most what it needs and what is free."""
    rows = st.integers(0, len(state.maximum) - 1)
    return rows.flatmap(
        lambda i: st.tuples(
            st.just(i),
            st.tuples(
                *(
                    st.integers(0, min(pair))
                    for pair in zip(state.need[i], state.available, strict=True)
                )
            ),
        )
    )


@given(small, st.data())
def test_where_the_reduced_check_may_be_used_it_says_the_same_for_less(state, data):
    assume(state.maximum)
    process, request = data.draw(requests_of(state))

    scopes = check_in_both_scopes(state, process, request)

    assume(scopes.may_reduce)
    assert scopes.agree
    assert scopes.reduced.comparisons <= scopes.full.comparisons


@given(small)
def test_a_state_alone_is_judged_by_its_holders_if_nobody_claims_more_than_there_is(state):
    scopes = check_in_both_scopes(state)

    assert scopes.agree or not scopes.may_reduce


def test_from_an_unsafe_state_the_reduced_check_would_be_wrong():
    """A can finish; B and C block each other already. The reduced check looks at A only."""
    unsafe = State((1,), ((2,), (9,), (9,)), ((0,), (4,), (4,)))

    scopes = check_in_both_scopes(unsafe, 0, (1,))

    assert (scopes.full_says_safe, scopes.may_reduce) == (False, False)
    assert not check_in_both_scopes(
        State((2,), ((2,), (9,), (9,)), ((0,), (4,), (4,))), 0, (1,)
    ).agree


def test_a_holder_of_nothing_counts_if_it_claims_more_than_there_is():
    overclaiming = State((2,), ((1,), (5,)), ((1,), (0,)))

    assert not check_in_both_scopes(overclaiming).claims_fit
    assert not check_in_both_scopes(overclaiming).agree


def test_the_reduced_check_of_the_book_s_request_looks_at_one_process():
    scopes = check_in_both_scopes(S1, 1, (1, 0, 2))

    assert (scopes.reduced.looked_at, scopes.reduced.comparisons) == ((0, 1), 2)
    assert (scopes.full.comparisons, scopes.full_says_safe, scopes.agree) == (7, True, True)


@pytest.mark.parametrize(("state", "process", "text", "answer", "left"), REQUESTS)
def test_both_scopes_say_what_the_books_say(state, process, text, answer, left):
    if answer in ("grant", "wait_unsafe"):
        scopes = check_in_both_scopes(state, process, rows(text)[0])
        assert scopes.full_says_safe == scopes.reduced_says_safe == (answer == "grant")
