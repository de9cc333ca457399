"""What a crawl claims of each resource class, and what a shift begins with."""

import re

import pytest

from crawling.orders.claims import (
    MIB,
    NEEDED,
    USUAL_CLAIM,
    complete_claim,
    memory_share,
    start_amounts,
)

CAPACITY = {
    "worker": 4,
    "fetch_slots": 64,
    "bandwidth": 100_000,
    "memory": 512,
    "dns_slots": 64,
    "archive_writers": 4,
}


def test_classes_left_out_take_their_usual_claim_and_unknown_ones_nothing():
    claim, errors = complete_claim({}, CAPACITY)

    assert (claim, errors) == (USUAL_CLAIM, {})


def test_the_usual_claim_is_never_more_than_the_pool_has():
    claim, errors = complete_claim({}, {**CAPACITY, "fetch_slots": 3, "memory": 16})

    assert (claim["fetch_slots"], claim["memory"], errors) == (3, 16, {})


def test_what_is_wanted_is_claimed():
    claim, errors = complete_claim({"fetch_slots": 64, "archive_writers": 2}, CAPACITY)

    assert (claim["fetch_slots"], claim["archive_writers"], errors) == (64, 2, {})


@pytest.mark.parametrize(
    ("wanted", "field", "words"),
    [
        ({"fetch_slots": 65}, "claim.fetch_slots", "65 is more than the pool has \\(64\\)"),
        ({"printers": 1}, "claim.printers", "no such resource class; it has worker, fetch_slots"),
        ({"worker": 2}, "claim.worker", "must be 1"),
        ({"worker": 0}, "claim.worker", "must be 1"),
        *(({key: 0}, f"claim.{key}", "must be 1") for key in sorted(NEEDED)),
    ],
)
def test_each_claim_that_cannot_be_is_told_by_name(wanted, field, words):
    _, errors = complete_claim(wanted, CAPACITY)

    assert list(errors) == [field]
    assert re.search(words, errors[field])


def test_all_mistakes_are_told_at_once():
    _, errors = complete_claim(
        {"printers": 1, "memory": 9999, "bandwidth": 0, "dns_slots": 3}, CAPACITY
    )

    assert set(errors) == {"claim.printers", "claim.memory", "claim.bandwidth"}


def test_a_shift_begins_with_one_fetch_thread_and_its_memory_and_asks_for_all_else_at_once():
    claim = {
        "worker": 1,
        "fetch_slots": 8,
        "bandwidth": 25_600,
        "memory": 64,
        "dns_slots": 8,
        "archive_writers": 1,
    }

    assert start_amounts(claim) == {
        "worker": 1,
        "fetch_slots": 1,
        "bandwidth": 25_600,
        "memory": 8,
        "dns_slots": 1,
    }


@pytest.mark.parametrize(
    ("slots", "memory", "at_first", "share"),
    [(8, 64, 8, MIB), (8, 8, 8, MIB), (8, 4, 4, MIB // 2), (1, 1, 1, MIB), (32, 1024, 32, MIB)],
)
def test_every_fetch_threads_has_its_share_of_memory_from_the_start(slots, memory, at_first, share):
    claim = {"fetch_slots": slots, "memory": memory}

    assert start_amounts(claim)["memory"] == at_first
    assert memory_share(claim) == share
    assert memory_share(claim) * slots <= at_first * MIB
