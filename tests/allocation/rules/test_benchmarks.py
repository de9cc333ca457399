"""The variants in the benchmark answer alike; and the figures that the full check must keep
(AC4)."""

from __future__ import annotations

from random import Random

import pytest

from allocation.rules.banker import (
    BankVerdict,
    State,
    decide_with_evidence,
    find_safe_sequence,
    finishable_processes,
    work_vectors,
)
from allocation.rules.searches import search_globally, search_uncovered
from benchmarks.allocation.core import chain, full_check, random_state, reduced
from tests.allocation.rules.states import small


@pytest.mark.parametrize("variant", [search_globally, search_uncovered])
def test_recursion_finds_the_same_processes(variant):
    random = Random(3)
    for _ in range(1_000):
        state = small(random)
        order = variant(state)
        work_vectors(state, order)
        assert sorted(order) == sorted(finishable_processes(state))


@pytest.mark.parametrize("search", [finishable_processes, search_globally, search_uncovered])
def test_a_search_of_all_decides_as_the_one_that_stops_at_the_requester(search):
    random, waits = Random(5), 0
    for _ in range(1_000):
        state = small(random)
        if not state.maximum or find_safe_sequence(state) is None:
            continue
        process = random.randrange(len(state.maximum))
        wanted = tuple(random.randint(0, most) for most in state.need[process])
        verdict = decide_with_evidence(state, process, wanted, search=search).verdict
        assert verdict == decide_with_evidence(state, process, wanted).verdict
        waits += verdict is BankVerdict.WAIT_UNSAFE
    assert waits > 5


def test_reduced_scope_gives_the_same_answer_where_claims_fit_the_capacity():
    random, fewer = Random(4), 0
    for _ in range(2_000):
        state = small(random)
        held = [tuple(units * (i % 2) for units in row) for i, row in enumerate(state.allocation)]
        capacity = [sum(column) for column in zip(state.available, *held, strict=True)]
        state = State(
            state.available,
            tuple(tuple(map(min, row, capacity)) for row in state.maximum),
            tuple(held),
        )
        fewer += len(reduced(state).maximum) < len(state.maximum)
        assert (find_safe_sequence(state) is None) == (find_safe_sequence(reduced(state)) is None)
    assert fewer > 500


@pytest.mark.parametrize(("n", "m"), [(10, 1), (200, 4)])
def test_states_to_measure_on_are_safe(n, m):
    assert find_safe_sequence(random_state(n, m))
    assert find_safe_sequence(chain(n, m)) == list(range(n - 1, -1, -1))


@pytest.mark.drill
@pytest.mark.parametrize(
    ("make", "n", "most_ms"), [(random_state, 1_000, 1), (chain, 1_000, 10), (chain, 10_000, 200)]
)
def test_full_check_keeps_its_figures(make, n, most_ms):
    assert full_check(make(n, 10))[0] <= most_ms
