from __future__ import annotations

from itertools import permutations

import pytest

from allocation.errors import RequestExceedsNeed
from allocation.rules.banker import (
    BankVerdict,
    State,
    decide,
    decide_with_evidence,
    find_safe_sequence,
    state_after_grant,
    work_vectors,
)
from tests.allocation.textbook import CASES, P3, REQUESTS, S1, Case, rows, state


def is_order(given: State, order: tuple[int, ...]) -> bool:
    """Whether the processes can finish in this order, straight from the definition (SEEDS A4)."""
    free = list(given.available)
    for i in order:
        if any(
            most - held > units
            for most, held, units in zip(given.maximum[i], given.allocation[i], free, strict=True)
        ):
            return False
        free = [units + held for units, held in zip(free, given.allocation[i], strict=True)]
    return sorted(order) == list(range(len(given.maximum)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_finds_a_safe_sequence_of_the_textbook_state_exactly_if_there_is_one(case: Case):
    found = find_safe_sequence(case.state)

    assert (
        sum(is_order(case.state, order) for order in permutations(range(len(case.state.maximum))))
        == case.orders
    )
    if case.order is None:
        assert found is None
    else:
        assert is_order(case.state, tuple(int(i) for i in case.order))
        assert is_order(case.state, tuple(found))


def test_repeated_passes_in_row_order_make_the_answer_deterministic():
    assert find_safe_sequence(S1) == [1, 3, 4, 0, 2]


@pytest.mark.parametrize(("given", "process", "text", "answer", "left"), REQUESTS)
def test_answers_the_textbook_request(given, process, text, answer, left):
    request = rows(text)[0]
    if answer == "exceeds_need":
        with pytest.raises(RequestExceedsNeed):
            decide(given, process, request)
        return

    assert decide(given, process, request) is BankVerdict(answer)
    assert decide(given, process, request, state_is_safe=False) is BankVerdict(answer)
    if left:
        after = state_after_grant(given, process, request)
        assert after.available == rows(left)[0]
        assert find_safe_sequence(after) is not None


def test_order_of_requests_matters():
    """S1b: P0's 020 is safe at first, and unsafe once P1 has been granted 102."""
    after = state_after_grant(S1, 1, (1, 0, 2))

    assert decide(S1, 0, (0, 2, 0)) is BankVerdict.GRANT
    assert decide(after, 0, (0, 2, 0)) is BankVerdict.WAIT_UNSAFE
    assert decide(after, 4, (3, 3, 0)) is BankVerdict.WAIT_UNAVAILABLE
    assert decide(after, 2, (1, 0, 0)) is BankVerdict.GRANT


def test_papers_screen_is_reproduced():
    """P2: ten classes of five, one process that asks one of each."""
    before = State((5,) * 10, ((1, 1, 2, 1, 1, 1, 1, 1, 1, 1),), ((0,) * 10,))
    assert find_safe_sequence(before) == [0]
    assert decide(before, 0, (1,) * 10) is BankVerdict.GRANT

    after = state_after_grant(before, 0, (1,) * 10)

    assert after.allocation == ((1,) * 10,)
    assert after.need == ((0, 0, 1, 0, 0, 0, 0, 0, 0, 0),)
    assert after.available == (4,) * 10


def test_papers_single_class_example_is_safe_but_not_in_the_papers_order():
    """P3 with its erratum: P1 needs 7 and 2 are free, so it cannot come first."""
    assert not is_order(P3, (0, 1, 2, 3))
    assert {order for order in permutations(range(4)) if is_order(P3, order)} == {
        (1, 2, 0, 3),
        (1, 2, 3, 0),
    }
    with pytest.raises(ValueError, match="process 0 needs"):
        work_vectors(P3, [0, 1, 2, 3])
    assert work_vectors(P3, [1, 2, 0, 3]) == [(2,), (6,), (10,), (18,), (20,)]


@pytest.mark.parametrize(
    ("given", "order"),
    [
        (state("0010 0010", "1010 1010", "0000"), None),
        (state("0010 1000", "1010 1000", "0000"), [1, 0]),
        (state("0010 0010 1000", "1010 1010 1000", "0000"), [2, 0, 1]),
        (state("00 00", "00 00", "00"), [0, 1]),
        (state("1 1", "1 1", "0"), [0, 1]),
        (state("2", "3", "0"), None),
        (state("2", "3", "1"), [0]),
        (State((3, 1), (), ()), []),
        (State((), (), ()), []),
    ],
)
def test_equal_needs_zero_needs_and_tiny_states_are_no_special_case(given, order):
    assert find_safe_sequence(given) == order


def test_only_the_last_class_being_short_is_enough_to_be_stuck():
    assert find_safe_sequence(state("000", "111", "110")) is None


def test_from_an_unsafe_state_only_a_full_check_or_a_finisher_is_granted():
    """AC10: S2 with one unit gone is unsafe; P1 may finish from what is free, P0 may not have one
    more.
    """
    cut = state("5 2 2", "=10 4 9", "2")
    assert find_safe_sequence(cut) is None

    assert decide(cut, 1, (2,), state_is_safe=False) is BankVerdict.GRANT
    assert decide(cut, 1, (1,), state_is_safe=False) is BankVerdict.GRANT
    assert decide(cut, 0, (1,), state_is_safe=False) is BankVerdict.WAIT_UNSAFE


def test_from_an_unsafe_state_the_early_exit_would_be_wrong():
    """P1 can finish once P0 has, yet the last two block each other whatever happens."""
    stuck = state("1 1 0 2 2", "2 3 0 9 9", "1")
    assert find_safe_sequence(stuck) is None

    assert decide(stuck, 1, (0,), state_is_safe=True) is BankVerdict.GRANT
    assert decide(stuck, 1, (0,), state_is_safe=False) is BankVerdict.WAIT_UNSAFE


def test_early_exit_stops_at_the_requester():
    assert decide_with_evidence(S1, 3, (0, 0, 1)).sequence == (3,)
    assert decide_with_evidence(S1, 1, (0, 0, 1)).sequence == (1,)
    assert decide_with_evidence(S1, 4, (0, 1, 0)).sequence == (1, 3, 4)


def test_deciding_changes_nothing():
    copy = State(S1.available, S1.maximum, S1.allocation)
    decide(S1, 1, (1, 0, 2))

    assert copy == S1


@pytest.mark.parametrize(
    ("available", "maximum", "allocation"),
    [
        ((1,), ((1, 1),), ((0, 0),)),
        ((1,), ((1,),), ()),
        ((1,), ((1,),), ((2,),)),
        ((-1,), (), ()),
        ((1,), ((1,),), ((-1,),)),
        ((True,), (), ()),
        ((1.0,), (), ()),
        (("1",), (), ()),
    ],
)
def test_state_refuses_wrong_shapes_bounds_and_types(available, maximum, allocation):
    with pytest.raises(ValueError, match=r"\S"):
        State(available, maximum, allocation)


@pytest.mark.parametrize("request_", [(1,), (1, 0, 0, 0), (-1, 0, 0), (True, 0, 0)])
def test_request_of_a_wrong_shape_or_sign_is_refused(request_):
    with pytest.raises(ValueError, match="request"):
        decide(S1, 0, request_)


@pytest.mark.parametrize("process", [-1, 5])
def test_unknown_row_is_refused(process):
    with pytest.raises(IndexError):
        decide(S1, process, (0, 0, 0))


class Array:
    """The part of numpy's arrays that the banker uses."""

    def __init__(self, values: object) -> None:
        self.values = values

    def tolist(self) -> object:
        return self.values


def test_state_is_built_from_arrays_or_lists():
    lists = [[list(row) for row in matrix] for matrix in (S1.maximum, S1.allocation)]

    assert State.from_arrays(list(S1.available), *lists) == S1
    assert (
        State.from_arrays(
            Array(list(S1.available)), Array(lists[0]), [Array(row) for row in lists[1]]
        )
        == S1
    )
    with pytest.raises(ValueError, match="whole numbers"):
        State.from_arrays(Array([1.5]), Array([]), Array([]))
