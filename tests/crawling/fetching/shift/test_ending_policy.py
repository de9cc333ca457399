from dataclasses import replace

import pytest

from crawling.fetching.shift import ending_policy
from crawling.fetching.shift.ending_policy import (
    ShiftFacts,
    join_seconds,
    reason_to_end,
    reason_to_hurry,
)

SLICE, LONGEST = 60.0, 600.0
QUESTIONS = ("end_of_run", "others_wait", "is_idlers_turn")


def no():
    return False


def yes():
    return True


def refuse_to_ask():
    raise AssertionError("the database was asked though the shift ends already")


FRESH = ShiftFacts(
    age_seconds=1.0,
    slice_seconds=SLICE,
    longest_seconds=LONGEST,
    resting_state="",
    is_aborted=False,
    is_lease_lost=False,
    is_surplus=False,
    is_extra=False,
    is_idle_only=False,
    end_of_run=str,
    others_wait=no,
    is_idlers_turn=no,
)
RESTING = {"resting_state": "pausing"}
OLD, TOO_OLD = {"age_seconds": SLICE + 1}, {"age_seconds": LONGEST + 1}


def facts(**changed):
    return replace(FRESH, **changed)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, ""),
        ({"is_lease_lost": True, "is_aborted": True}, ending_policy.LEASE_LOST),
        ({"is_aborted": True, **RESTING}, ending_policy.ABORTED),
        (RESTING, "the run is paused"),
        ({"end_of_run": lambda: "a limit is reached", **TOO_OLD}, "a limit is reached"),
        (TOO_OLD, ending_policy.LONGEST),
        ({"is_surplus": True}, ending_policy.SURPLUS),
        ({"is_idle_only": True, "others_wait": yes}, ending_policy.YIELDED),
        (OLD, ""),
        ({"others_wait": yes}, ""),
        ({"others_wait": yes, **OLD}, ending_policy.SLICE_OVER),
        ({"others_wait": yes, "is_extra": True}, ending_policy.SLICE_OVER),
        ({"is_idlers_turn": yes, **OLD}, ""),
        ({"is_idle_only": True, "is_idlers_turn": yes}, ""),
        ({"is_idle_only": True, "is_idlers_turn": yes, **OLD}, ending_policy.SLICE_OVER),
    ],
)
def test_a_shift_ends_for_the_first_reason_that_holds(changed, reason):
    assert reason_to_end(facts(**changed)) == reason


@pytest.mark.parametrize(
    "changed", [{"is_lease_lost": True}, {"is_aborted": True}, RESTING], ids=str
)
def test_the_database_is_not_asked_where_the_shift_ends_anyway(changed):
    assert reason_to_end(facts(**dict.fromkeys(QUESTIONS, refuse_to_ask), **changed))


def test_others_are_looked_for_only_by_a_shift_that_would_give_way():
    assert reason_to_end(facts(others_wait=refuse_to_ask, is_idlers_turn=refuse_to_ask)) == ""


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, ""),
        ({"others_wait": yes}, ""),
        (TOO_OLD, ""),
        ({"is_lease_lost": True}, ending_policy.LEASE_LOST),
        ({"is_aborted": True}, ending_policy.ABORTED),
        ({"is_idle_only": True, "others_wait": yes}, ending_policy.YIELDED),
    ],
)
def test_fetches_at_the_end_are_cut_off_for_few_reasons(changed, reason):
    assert reason_to_hurry(facts(**changed)) == reason


def test_who_uses_idle_capacity_gives_it_back_sooner_than_others_end():
    assert join_seconds(ending_policy.YIELDED) < join_seconds(ending_policy.SLICE_OVER) < 5
