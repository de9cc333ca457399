"""A run has as many processes as its order says; where it leaves that open, as many as find a
worker that nobody else wants (SEEDS W14).
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise

import pytest

from allocation.models import Process
from allocation.services import set_capacity
from crawling.models import HostQueue, Page, RunProcess, Shift
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.grants import request_shift
from crawling.runs.process_count import ExtraProcesses
from crawling.runs.shift_lifecycle import begin_shift, end_shift, settle_ended_shift
from crawling.runs.start import start_run
from tests.crawling.conftest import granted_starts
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until

WORKERS = 4  # of the pool
SEEDS = [f"http://127.0.1.{number}:8900/" for number in range(1, 41)]


@pytest.fixture
def start(order):
    """Return a function that starts a crawl of so many hosts, and gives its first process a
    shift.
    """

    def started(hosts, name="a crawl", **fields):
        claim = {"bandwidth": 1_000}  # so that workers are all that is short
        run = start_run(create_crawl(order(*SEEDS[:hosts], name=name, claim=claim, **fields)))
        begin_granted()
        return run

    return started


def begin_granted():
    """Begin the shifts that were granted, as workers would."""
    for bank, epoch in granted_starts():
        begin_shift(RunProcess.objects.get(bank_process=bank), epoch=epoch, worker="w")


def end(run, number):
    """End the shift of a process, as its worker would."""
    process = RunProcess.objects.get(run=run.pk, number=number)
    shift = Shift.objects.get(process=process, ended_at=None)
    Process.objects.filter(pk=process.bank_process_id).update(worker="w")
    end_shift(shift, "its slice was over")
    settle_ended_shift(process, epoch=shift.epoch, worker="w")


def at_work(run):
    return set(run.processes.filter(is_retired=False).values_list("number", flat=True))


def placed(run):
    return Counter(HostQueue.objects.filter(run=run).values_list("process_number", flat=True))


@pytest.mark.parametrize(("hosts", "expected"), [(4, {0}), (5, {0, 1}), (40, set(range(WORKERS)))])
def test_a_crawl_of_many_hosts_takes_the_workers_that_are_idle(start, hosts, expected):
    run = start(hosts)

    ExtraProcesses().fit_processes()
    assert placed(run) == {0: hosts}  # until the others have their shifts
    begin_granted()

    assert at_work(run) == expected
    assert placed(run).keys() == expected
    assert max(placed(run).values()) <= 1.25 * hosts / len(expected) + 1


def test_an_extra_process_leaves_with_its_shift_and_its_hosts_go_to_the_rest(start):
    run, fitter = start(40), ExtraProcesses()
    fitter.fit_processes()
    begin_granted()
    others = [start(1, name=f"crawl {number}") for number in range(2)]  # which wait

    end(run, 3)
    end(run, 2)
    fitter.fit_processes()

    assert at_work(run) == {0, 1}
    assert placed(run).keys() == {0, 1}
    assert not run.processes.filter(number__gt=1, bank_process__state="active").exists()
    begin_granted()
    assert all(other.processes.get().shifts.exists() for other in others)
    fitter.fit_processes()  # no worker is idle now
    assert at_work(run) == {0, 1}


def test_while_others_wait_a_crawl_takes_no_further_worker(start):
    run = start(40)
    for number in range(WORKERS):
        start(1, name=f"crawl {number}")  # the last of them waits

    ExtraProcesses().fit_processes()

    assert at_work(run) == {0}


def test_the_number_of_processes_may_be_edited_while_the_run_is_at_work(start):
    run, fitter = start(3), ExtraProcesses()

    edit_crawl(run.crawl, {"processes": 3})
    fitter.fit_processes()
    begin_granted()
    assert at_work(run) == {0, 1, 2} == placed(run).keys()

    edit_crawl(run.crawl, {"processes": 2})
    fitter.fit_processes()
    assert at_work(run) == {0, 1, 2}  # a shift is let end
    end(run, 2)
    request_shift(RunProcess.objects.get(run=run.pk, number=2))
    fitter.fit_processes()
    assert at_work(run) == {0, 1} == placed(run).keys()


@pytest.mark.drill
@pytest.mark.timeout(300)
def test_a_worker_that_is_added_takes_hosts_over_in_15_seconds_and_gives_them_back_when_it_leaves(
    transactional_db, make_site, order, pool, tmp_path
):
    set_capacity(pool=pool.pk, capacity={"worker": 1})

    def page(_request):
        return 200, {"Content-Type": "text/html"}, links(*(f"/{n}" for n in range(60)))

    pages = dict.fromkeys(["/", *(f"/{n}" for n in range(60))], page)
    sites = [make_site(pages, address=f"127.0.1.{n}") for n in range(1, 25)]
    seeds = [f"{site.url}/" for site in sites]
    run = start_run(create_crawl(order(*seeds, delay_seconds=0.5, archive=False)))
    added_ones = HostQueue.objects.filter(run=run, process_number=1)

    with running_stack(tmp_path) as stack:
        stack.start(SCHEDULER)
        stack.start(WORKER)
        wait_until(lambda: Page.objects.filter(run=run).count() > 48)
        assert at_work(run) == {0}

        added, began = stack.start(WORKER), time.monotonic()
        # all that were placed on it are leased by its shift, too
        wait_until(
            lambda: (
                8 <= added_ones.count() == added_ones.filter(host__shift__process__number=1).count()
            ),
            seconds=60,
        )
        taken_after = time.monotonic() - began
        added.terminate()
        added.wait()
        began = time.monotonic()
        wait_until(lambda: placed(run).keys() == {0}, seconds=60)
        given_after = time.monotonic() - began

    print(f"taken over after {taken_after:.1f} s, given back after {given_after:.1f} s")
    gaps = [later.at - one.at for site in sites for one, later in pairwise(site.log)]
    assert min(gaps) >= 0.45
