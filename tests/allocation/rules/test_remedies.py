"""A remedy for an unsafe state makes it safe."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from allocation.rules.banker import State, find_safe_sequence, fits, minus, plus
from allocation.rules.remedies import (
    cheapest_release,
    excess_claims,
    missing_units,
    stuck_processes,
)

DRIVES = State((2,), ((4,), (10,), (9,)), ((2,), (5,), (2,)))
numbers = st.integers(0, 5)


@st.composite
def states(draw):
    m = draw(st.integers(1, 3))
    vectors = st.tuples(*[numbers] * m)
    held = draw(st.lists(vectors, max_size=5))
    return State(draw(vectors), tuple(plus(row, draw(vectors)) for row in held), tuple(held))


def test_a_drive_more_or_a_lower_claim_makes_the_tape_drives_safe():
    assert stuck_processes(DRIVES) == [1, 2]
    assert missing_units(DRIVES) == (1,)
    assert excess_claims(DRIVES) == {1: (1,)}


@given(states())
def test_units_that_are_said_to_be_missing_are_enough(state):
    more = State(plus(state.available, missing_units(state)), state.maximum, state.allocation)

    assert find_safe_sequence(more) is not None


@given(states())
def test_claims_that_are_said_to_be_too_high_may_fall_so_far_and_it_is_enough(state):
    maximum = list(state.maximum)
    for row, less in excess_claims(state).items():
        maximum[row] = minus(maximum[row], less)
        assert fits(state.allocation[row], maximum[row])

    assert find_safe_sequence(State(state.available, tuple(maximum), state.allocation)) is not None


@given(states())
def test_a_safe_state_needs_no_remedy(state):
    if find_safe_sequence(state) is not None:
        assert (any(missing_units(state)), excess_claims(state)) == (False, {})


@given(
    st.dictionaries(st.integers(1, 9), st.integers(1, 5), max_size=5),
    st.lists(st.sets(st.integers(1, 9), min_size=1, max_size=3), max_size=4),
)
def test_cheapest_release_is_the_smallest_and_cheapest_set_that_ends_the_wait(costs, enough):
    """enough: any superset of one of them ends the wait, as more units never make it worse."""

    def ends(gone):
        return any(one <= gone for one in enough)

    sets = [set(c) for size in range(1, len(costs) + 1) for c in combinations(costs, size)]
    ending = [one for one in sets if ends(one)]
    found = cheapest_release(costs, ends)

    assert bool(found) == bool(ending)
    if ending:
        assert ends(set(found))
        least = min(map(len, ending))
        if least <= 2:
            assert len(found) == least
            cheapest = min(sum(costs[i] for i in one) for one in ending if len(one) == least)
            assert sum(costs[i] for i in found) == cheapest
        assert not any(ends(set(found) - {one}) for one in found), "nobody pauses in vain"
