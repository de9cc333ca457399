"""Turns, bypass limit, ageing priorities and reserves: the rule itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocation.reasons import FirstInTurn, OwnShare, explain_turns
from allocation.rules.banker import BankVerdict, plus
from allocation.rules.fairness import (
    LIFT,
    PRIORITIES,
    URGENT,
    QueuedRequest,
    QueueVerdict,
    TurnRules,
    read_verdict,
    turn_refusal,
    units_kept_back,
)
from allocation.rules.shares import ShareUse
from allocation.wording import UnitWords

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
vectors = st.tuples(st.integers(0, 9), st.integers(0, 9))
anyone = st.builds(QueuedRequest, vectors, st.booleans(), st.sampled_from(PRIORITIES))
any_rules = st.builds(TurnRules, st.integers(0, 20), vectors, vectors)
counts = st.none() | st.integers(0, 40)


@given(any_rules, anyone, vectors, counts)
def test_nothing_here_refuses_a_process_that_holds_something(rules, asker, available, passed):
    assert not asker.holds or turn_refusal(rules, asker, available, passed=passed) is None


@given(any_rules, anyone, vectors, st.integers(0, 40))
def test_one_that_holds_nothing_may_pass_the_first_only_up_to_the_limit(
    rules, asker, available, passed
):
    refused = turn_refusal(rules, asker, available, passed=passed)

    assert (refused is QueueVerdict.WAIT_TURN) == (not asker.holds and passed >= rules.limit)


@given(any_rules, st.data())
def test_first_in_turn_is_always_served_once_everything_is_free(rules, data):
    """No reserve keeps back a start for ever: not even one that asks for all there is."""
    amounts = data.draw(st.tuples(*[st.integers(0, most) for most in rules.capacity]))

    assert (
        turn_refusal(rules, QueuedRequest(amounts, holds=False), rules.capacity, passed=None)
        is None
    )


@given(any_rules, vectors, vectors, vectors)
def test_start_leaves_what_is_set_aside_and_the_reserve_unless_it_is_urgent(
    rules, amounts, free, aside
):
    """free: what is free beside the amounts, as fairness is asked about what is free alone."""
    for priority in (0, URGENT):
        start = QueuedRequest(amounts, False, priority, set_aside=aside)
        kept = [
            min(own + (0 if priority == URGENT else urgent), max(0, units - asked)) * bool(asked)
            for own, urgent, units, asked in zip(
                aside, rules.reserved, rules.capacity, amounts, strict=True
            )
        ]
        refused = turn_refusal(rules, start, plus(amounts, free), passed=None)
        assert list(units_kept_back(rules, start)) == kept
        assert (refused is None) == all(n <= m for n, m in zip(kept, free, strict=True))


@given(st.lists(st.tuples(st.integers(0, 7200), st.sampled_from(PRIORITIES)), min_size=2))
def test_nobody_overtakes_a_start_that_has_waited_for_twenty_minutes(starts):
    """The bound of ageing: who came later than (highest - own priority) * LIFT comes after,
    whatever its priority.
    """
    for arrived, priority in starts:
        turn = (
            NOON + timedelta(seconds=arrived) - QueuedRequest((0, 0), False, priority).turn_advance
        )
        for later, other in starts:
            if timedelta(seconds=later - arrived) > (max(PRIORITIES) - priority) * LIFT:
                assert (
                    NOON
                    + timedelta(seconds=later)
                    - QueuedRequest((0, 0), False, other).turn_advance
                    > turn
                )


def test_holders_are_lifted_by_nothing():
    assert QueuedRequest((1,), True, 10).turn_advance == timedelta(0)
    assert QueuedRequest((1,), False, 10).turn_advance == timedelta(minutes=10)


def test_reason_says_whose_turn_it_is_since_when_and_how_often_it_was_passed():
    why = explain_turns(
        QueueVerdict.WAIT_TURN,
        TurnRules(10, (4,), (0,)),
        QueuedRequest((1,), False),
        (UnitWords("a", "a"),),
        FirstInTurn("big", NOON, 12),
        OwnShare(ShareUse({}, ()), None),
    )

    assert (
        "it is the turn of big, which waits since 12:00 UTC and was overtaken 12 times"
        in why.reason
    )
    assert why.what_ends_it == "Ends when big is served or withdraws its request."


@pytest.mark.parametrize("verdict", [*BankVerdict, *QueueVerdict])
def test_stored_verdict_reads_back(verdict):
    assert read_verdict(verdict.value) is verdict
