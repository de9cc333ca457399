"""When those who wait may be served: what is promised for chosen cases, and what holds for all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from allocation.rules.banker import fits, minus, plus
from allocation.rules.estimate import HoldingProcess, HoldingTerm, WaitingRequest, estimate_starts

SHOP = HoldingProcess(1, "Demo: the shop", (4,), (4,), HoldingTerm(left=37, usual=60))


def one(available: tuple[int, ...], tenants: list[HoldingProcess], *waiters: WaitingRequest):
    return estimate_starts(available, tenants, waiters)[-1]


def test_wait_is_estimated_by_the_usual_shift_of_the_holder():
    estimate = one((0,), [SHOP], WaitingRequest(2, "library", (3,), (3,)))

    assert (estimate.seconds, estimate.sentence) == (
        37,
        "About 40 s, if Demo: the shop releases its units after its usual work session of 60 s.",
    )


def test_nothing_is_estimated_where_no_holder_has_finished_a_shift():
    estimate = one(
        (0,), [HoldingProcess(1, "new", (4,), (4,))], WaitingRequest(2, "library", (3,), (3,))
    )

    assert (estimate.seconds, estimate.sentence) == (
        None,
        "No estimate: no holder has finished a work session yet.",
    )


def test_the_one_who_is_not_known_is_named_if_the_others_are_not_enough():
    estimate = one(
        (0,), [SHOP, HoldingProcess(3, "new", (4,), (4,))], WaitingRequest(2, "library", (6,), (6,))
    )

    assert estimate.sentence == "No estimate: new has not finished a work session yet."


def test_reservation_ends_by_its_own_time():
    kept = HoldingProcess(1, "paused", (4,), (4,), HoldingTerm(left=600))

    assert (
        one((0,), [kept], WaitingRequest(2, "library", (3,), (3,))).sentence
        == "About 10 min, if the reservation of paused ends as set."
    )


def test_holder_that_is_late_is_said_to_be_late():
    late = HoldingProcess(1, "slow", (4,), (4,), HoldingTerm(left=0, usual=60))

    estimate = one((0,), [late], WaitingRequest(2, "library", (3,), (3,)))

    assert (
        estimate.sentence
        == "Any moment now, if slow releases its units soon: it has held them for longer than "
        "its usual work session of 60 s."
    )


def test_those_ahead_are_served_first_and_hold_for_their_usual_time():
    first, second = (
        WaitingRequest(2, "first", (4,), (4,), usual=20),
        WaitingRequest(3, "second", (4,), (4,)),
    )

    estimate = one((0,), [SHOP], first, second)

    assert estimate.seconds == 57
    assert estimate.sentence == (
        "About 60 s, if Demo: the shop releases its units after its usual work session of 60 s and "
        "first, next in line, starts and releases its units after its usual work session of 20 s, "
        "and the one ahead in line is served first."
    )


def test_nobody_can_tell_behind_one_that_has_never_finished_a_shift():
    first, second = WaitingRequest(2, "first", (4,), (4,)), WaitingRequest(3, "second", (4,), (4,))

    assert (
        one((0,), [SHOP], first, second).sentence
        == "No estimate: first, ahead in line, has not finished a work session yet."
    )


def test_only_those_who_hold_what_is_short_are_named():
    other = HoldingProcess(4, "other", (0, 1), (0, 1), HoldingTerm(5, 5))
    shop = HoldingProcess(1, "shop", (4, 0), (4, 0), HoldingTerm(37, 60))

    assert (
        one((0, 0), [shop, other], WaitingRequest(2, "w", (3, 0), (3, 0))).sentence
        == "About 40 s, if shop releases its units after its usual work session of 60 s."
    )


def test_wait_for_safety_ends_when_one_of_the_rivals_has_finished():
    """Ten units: a holds 4 and may hold 8, b holds 2 and may hold 8, and asks for 2 of the 4 that
    are free.
    """
    a = HoldingProcess(1, "a", (8,), (4,), HoldingTerm(30, 30))
    b = HoldingProcess(2, "b", (8,), (2,), HoldingTerm(50, 50))

    assert one((4,), [a, b], WaitingRequest(2, "b", (8,), (2,))).seconds == 30


def test_while_a_turn_is_kept_nobody_empty_handed_is_served_before_it():
    first, second = (
        WaitingRequest(2, "first", (4,), (4,), usual=20),
        WaitingRequest(3, "second", (1,), (1,)),
    )

    assert [e.seconds for e in estimate_starts((1,), [SHOP], [first, second])] == [37, 0]
    assert [e.seconds for e in estimate_starts((1,), [SHOP], [first, second], keeps_turn=2)] == [
        37,
        37,
    ]


def test_what_is_reserved_for_urgent_work_must_stay_free_beside_it():
    assert one((3,), [SHOP], WaitingRequest(2, "w", (3,), (3,), leaves=(1,))).seconds == 37


numbers = st.integers(0, 4)


@st.composite
def banks(draw):
    m = draw(st.integers(1, 3))
    vectors = st.tuples(*[numbers] * m)
    tenants, waiters = [], []
    for i in range(draw(st.integers(0, 4))):
        held, need = draw(vectors), draw(vectors)
        left = draw(st.none() | st.integers(0, 100))
        tenants.append(
            HoldingProcess(
                i, f"t{i}", plus(held, need), held, None if left is None else HoldingTerm(left, 100)
            )
        )
    for i in range(draw(st.integers(1, 4))):
        amounts, more = draw(vectors), draw(vectors)
        waiters.append(
            WaitingRequest(
                10 + i, f"w{i}", plus(amounts, more), amounts, draw(st.none() | st.integers(0, 100))
            )
        )
    return draw(vectors), tenants, waiters


@given(banks())
def test_no_number_without_its_assumption(bank):
    for estimate in estimate_starts(*bank):
        assert estimate.sentence.endswith(".")
        assert ("No estimate: " in estimate.sentence) == (estimate.seconds is None)
        assert estimate.seconds is None or " if " in estimate.sentence


@given(banks())
def test_nobody_is_said_to_start_before_what_it_asks_for_can_be_there(bank):
    available, tenants, waiters = bank
    for waiter, estimate in zip(waiters, estimate_starts(*bank), strict=True):
        if estimate.seconds is None:
            continue
        back = available
        for tenant in tenants:
            if tenant.term and tenant.term.left <= estimate.seconds:
                back = plus(back, tenant.allocation)
        assert fits(waiter.amounts, back)


@given(banks())
def test_whoever_can_be_served_now_needs_no_time(bank):
    available, _tenants, waiters = bank
    first = waiters[0]
    if fits(first.maximum, available):
        assert estimate_starts(*bank)[0].seconds == 0


@given(banks(), st.integers(1, 50))
def test_a_later_holder_never_makes_the_only_waiter_start_earlier(bank, delay):
    available, tenants, waiters = bank
    later = [
        HoldingProcess(
            t.id, t.label, t.maximum, t.allocation, t.term and HoldingTerm(t.term.left + delay, 100)
        )
        for t in tenants
    ]

    before, after = (one(available, rows, waiters[0]).seconds for rows in (tenants, later))

    assert (before is None) == (after is None)
    assert before is None or before <= after


@given(banks())
def test_what_holders_without_a_known_time_hold_is_never_counted_upon(bank):
    available, tenants, waiters = bank
    known = [tenant for tenant in tenants if tenant.term]
    total = available
    for tenant in known:
        total = plus(total, tenant.allocation)

    for waiter, estimate in zip(waiters, estimate_starts(*bank), strict=True):
        assert estimate.seconds is None or all(units >= 0 for units in minus(total, waiter.amounts))
