"""After a failover that lost commits a shift and its successor have one epoch; neither touches what
is the other's.
"""

from __future__ import annotations

import pytest

from allocation.errors import StaleEpoch
from allocation.models import Process, Request
from allocation.selectors import holdings_of
from allocation.services import take_lease
from crawling.fetching.shift.grants import ShiftGrants
from crawling.models import RunProcess, Shift
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift, shift_was_lost
from crawling.runs.start import start_run
from tests.crawling.conftest import granted_starts


@pytest.fixture
def left_behind(order) -> Shift:
    """A shift whose bank, as the second server has it, gave its epoch to another worker."""
    start_run(create_crawl(order("http://127.0.0.1:8900/")))
    ((process, epoch),) = granted_starts()
    take_lease(process=process, epoch=epoch, worker="before")
    run_process = RunProcess.objects.select_related("run__crawl").get()
    shift = begin_shift(run_process, epoch=epoch, worker="before")
    Process.objects.update(worker="")
    assert take_lease(process=process, epoch=epoch, worker="after")
    return shift


def state_of_bank() -> tuple[object, ...]:
    process = Process.objects.get()
    return holdings_of([process.pk]), process.lease_until, process.worker, Request.objects.count()


@pytest.mark.parametrize(
    "ask",
    [
        lambda grants: grants.grow({"fetch_slots": 1}, lambda threads: 0),
        lambda grants: grants.request_stage({"memory": 1}, 10),
        lambda grants: grants.give_back({"memory": 1}, "surplus"),
    ],
    ids=["growth", "stage", "partial release"],
)
def test_the_shift_left_behind_neither_gets_nor_gives_units(left_behind, ask):
    grants, before = ShiftGrants(left_behind), state_of_bank()

    with pytest.raises(StaleEpoch):
        ask(grants)

    assert state_of_bank() == before


def test_its_death_closes_its_own_books_and_leaves_its_successors_units(left_behind):
    before, process = state_of_bank(), Process.objects.get()

    shift_was_lost(process.pk, process.epoch, "lost", worker="before")

    assert state_of_bank() == before
    left_behind.refresh_from_db()
    assert left_behind.ended_at


def test_its_death_leaves_its_successors_books_open(left_behind):
    Shift.objects.update(worker="after")  # the second server knows nothing of the first one's row
    process = Process.objects.get()

    shift_was_lost(process.pk, process.epoch, "lost", worker="before")

    left_behind.refresh_from_db()
    assert left_behind.ended_at is None


def test_a_start_that_nobody_had_taken_up_goes_back(order):
    """A work process may be killed before it does so; no wait is needed then."""
    start_run(create_crawl(order("http://127.0.0.1:8900/")))
    ((process, epoch),) = granted_starts()

    shift_was_lost(process, epoch, "lost", worker="before")

    assert Process.objects.get().epoch > epoch
