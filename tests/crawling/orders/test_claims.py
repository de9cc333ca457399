"""The claim of a crawl on each resource class, and the first units of a shift."""

import re
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from allocation.rules.banker import BankVerdict, State, decide, state_after_grant
from crawling.fetching.preresolver.slots import SHARE
from crawling.installation.pools import default_classes
from crawling.orders.claims import (
    MIB,
    NEEDED,
    USUAL_CLAIM,
    complete_claim,
    memory_share_mib,
    preset_claims,
    start_amounts,
)

CAPACITY = {
    "worker": 4,
    "fetch_slots": 64,
    "bandwidth": 102_400,
    "memory": 512,
    "dns_slots": 64,
    "archive_writers": 4,
}


def test_classes_left_out_take_their_usual_claim_and_unknown_ones_nothing():
    claim, errors = complete_claim({}, CAPACITY)

    assert (claim, errors) == ({**USUAL_CLAIM, "fetch_slots": 14}, {})


def test_the_usual_claim_is_never_more_than_the_pool_has():
    claim, errors = complete_claim({}, {**CAPACITY, "worker": 1, "fetch_slots": 3, "memory": 16})

    assert (claim["fetch_slots"], claim["memory"], errors) == (3, 16, {})


@pytest.mark.parametrize(
    ("workers", "units", "claimed"),
    [(4, 102_336, 25_584), (4, 102_400, 25_600), (3, 102_336, 25_600), (5, 7, 1), (5, 3, 1)],
)
def test_the_usual_claim_leaves_as_much_for_each_other_worker(workers, units, claimed):
    claim, errors = complete_claim({}, {**CAPACITY, "worker": workers, "bandwidth": units})

    assert (claim["bandwidth"], errors) == (claimed, {})


def test_a_pool_that_has_no_worker_yet_is_claimed_as_that_of_one():
    claim, _ = complete_claim({}, {**CAPACITY, "worker": 0})

    assert claim == {**USUAL_CLAIM, "worker": 0, "fetch_slots": 56}


@pytest.mark.parametrize(
    ("workers", "slots", "claimed"),
    [(2, 64, 28), (4, 64, 14), (8, 64, 8), (16, 64, 4), (1, 1024, 64), (64, 32, 1)],
)
def test_a_crawl_of_many_hosts_may_use_most_of_a_workers_part_of_the_fetch_slots(
    workers, slots, claimed
):
    """All usual crawls together leave an eighth for test fetches, where each has more than 8."""
    claim, errors = complete_claim({}, {**CAPACITY, "worker": workers, "fetch_slots": slots})

    assert (claim["fetch_slots"], errors) == (claimed, {})


def joined(capacity: dict[str, int], claims: list[dict[str, int]]) -> State:
    nothing = [(0,) * len(capacity)] * len(claims)
    return State(tuple(capacity.values()), [tuple(claim.values()) for claim in claims], nothing)


def asked(state: State, number: int, claim: dict[str, int], amounts: dict[str, int]) -> State:
    request = tuple(amounts.get(key, 0) for key in claim)
    assert decide(state, number, request) is BankVerdict.GRANT
    return state_after_grant(state, number, request)


@given(
    workers=st.integers(1, 64),
    cores=st.integers(1, 128),
    mebibytes=st.integers(128, 2**20),
    preset=st.sampled_from(["normal", "gentle", None]),
)
@example(workers=4, cores=2, mebibytes=4096, preset=None)
@example(workers=3, cores=2, mebibytes=4096, preset=None)
@example(workers=64, cores=1, mebibytes=128, preset=None)
def test_in_the_pool_of_every_machine_each_worker_can_have_a_usual_crawl_with_all_that_it_claims(
    workers, cores, mebibytes, preset
):
    """Beside a DNS resolver; each shift begins and grows while all others do, in any order."""
    capacity = capacity_of_machine(workers, cores, mebibytes)
    claim = preset_claims(capacity)[preset] if preset else complete_claim({}, capacity)[0]
    names = {**dict.fromkeys(capacity, 0), "dns_slots": capacity["dns_slots"] // SHARE}
    begun = start_amounts(claim)
    rest = {key: units - begun.get(key, 0) for key, units in claim.items()}

    state = asked(joined(capacity, [names, *[claim] * workers]), 0, names, names)
    for amounts in (begun, rest):
        for number in range(1, workers + 1):
            state = asked(state, number, claim, amounts)

    assert all(claim[key] >= 1 for key in NEEDED)


def capacity_of_machine(workers: int, cores: int, mebibytes: int) -> dict[str, int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=mebibytes * 8 * MIB))
        return {new.key: new.capacity for new in default_classes(workers, cores=cores)}


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
    assert memory_share_mib(claim) == share
    assert memory_share_mib(claim) * slots <= at_first * MIB
