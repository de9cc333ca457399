"""The detection of true deadlocks: the textbooks' answers, and the definition itself tried out in
every order.
"""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from allocation.rules.banker import fits, plus
from experiments.deadlock_detection import deadlocked_processes


def v(digits):
    return tuple(map(int, digits))


def stuck(available, holding, wanting):
    """Row numbers; a request of nothing but zeros is one that is at work."""
    rows = range(len(holding.split()))
    waiting = {i: v(want) for i, want in zip(rows, wanting.split(), strict=True) if int(want)}
    return set(
        deadlocked_processes(
            v(available), dict(zip(rows, map(v, holding.split()), strict=True)), waiting
        )
    )


def test_nobody_is_deadlocked_while_somebody_can_finish():
    assert stuck("000", "010 200 303 211 002", "000 202 000 100 002") == set()
    assert stuck("2100", "0010 2001 0120", "2001 1010 2100") == set()


def test_one_more_request_locks_up_those_in_the_circle_and_whoever_waits_for_them():
    assert stuck("000", "010 200 303 211 002", "000 202 001 100 002") == {1, 2, 3, 4}
    assert stuck("00001", "10110 11000 00010 00000", "01001 00101 00001 10101") == {0, 1, 3}
    assert stuck("2100", "0010 2001 0120", "2001 1010 2101") == {0, 1, 2}


def test_who_waits_for_one_that_is_at_work_is_only_slow():
    assert deadlocked_processes((0,), {"busy": (2,)}, {"slow": (2,)}) == frozenset()


@st.composite
def situations(draw):
    m, n = draw(st.integers(1, 3)), draw(st.integers(0, 5))
    vectors = st.tuples(*[st.integers(0, 3)] * m)
    allocation = {i: draw(vectors) for i in range(n)}
    return draw(vectors), allocation, {i: draw(vectors) for i in range(n) if draw(st.booleans())}


@given(situations())
def test_it_is_as_the_definition_says_tried_in_every_order(situation):
    available, allocation, waiting = situation
    can_finish = set()
    for order in permutations(allocation):
        work = available
        for process in order:
            if process in waiting and not fits(waiting[process], work):
                break
            work = plus(work, allocation[process])
            can_finish.add(process)

    assert deadlocked_processes(available, allocation, waiting) == set(allocation) - can_finish
