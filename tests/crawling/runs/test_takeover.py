"""The hosts of a worker that died go to the rest of its run, come back with the next, and are never
fetched from by two (SEEDS W14).
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import psutil
import pytest
from django.db import connection
from django.utils import timezone

from crawling.frontier import seconds_until_due
from crawling.models import Host, HostQueue, Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift, end_shift
from crawling.runs.start import start_run
from crawling.runs.takeover import (
    ABSENT_SECONDS,
    LEASE_ENDED,
    LOST_SECONDS,
    take_over_hosts,
)
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.frontiers import Frontier
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until, work_process_of

HOSTS = [f"host{number}.test/x" for number in range(400)]


def placed(run):
    return dict(HostQueue.objects.filter(run=run).values_list("host__name", "process_number"))


def pass_seconds(seconds):
    """Let everything have happened so many seconds earlier."""
    with connection.cursor() as cursor:
        for table, column in (("shift", "ended_at"), ("host", "due_at"), ("hostqueue", "due_at")):
            cursor.execute(
                f"UPDATE crawling_{table} SET {column} = {column} - make_interval(secs => %s)",
                [seconds],
            )


@pytest.fixture
def frontier(db):
    """Four processes, each with a shift, and hosts for all."""
    frontier = Frontier(processes=4)
    for number in (1, 2, 3):
        frontier.begin_shift(number)
    frontier.sow(*HOSTS)
    return frontier


def test_only_the_hosts_of_the_absent_move_and_they_come_back(frontier):
    before, gone = placed(frontier.run), frontier.processes[2]
    end_shift(gone.shifts.get(), "its worker died")
    pass_seconds(ABSENT_SECONDS + 1)

    take_over_hosts()

    during = placed(frontier.run)
    moved = {name for name in before if before[name] != during[name]}
    assert moved == {name for name, number in before.items() if number == 2}
    assert 0.15 < len(moved) / len(HOSTS) < 0.35  # a fourth
    assert set(Counter(during[name] for name in moved)) == {0, 1, 3}
    gone.refresh_from_db()
    assert not gone.serving
    assert seconds_until_due(gone) < 0  # it asks for a shift as long as the run has work

    take_over_hosts()  # twice does no harm
    begin_shift(gone, epoch=2, worker="another")
    assert placed(frontier.run) == before


def test_a_process_gets_its_hosts_back_even_if_the_others_have_all_of_them_at_work(frontier):
    gone = frontier.processes[2]
    end_shift(gone.shifts.get(), LEASE_ENDED)
    pass_seconds(LOST_SECONDS + 1)
    take_over_hosts()
    Host.objects.update(
        shift=frontier.processes[0].shifts.get(), lease_until=timezone.now() + timedelta(seconds=60)
    )
    gone.refresh_from_db()

    assert seconds_until_due(gone) < 0
    assert seconds_until_due(frontier.processes[1]) > 50


@pytest.mark.parametrize("seconds", [0, ABSENT_SECONDS - 1])
def test_a_moment_without_a_shift_moves_nothing(frontier, seconds):
    before = placed(frontier.run)
    end_shift(frontier.processes[2].shifts.get(), "its slice was over")
    pass_seconds(seconds)

    take_over_hosts()

    assert placed(frontier.run) == before


@pytest.mark.parametrize(
    ("seconds", "moves"), [(LOST_SECONDS - 1, False), (LOST_SECONDS + 1, True)]
)
def test_the_hosts_of_a_lease_that_ran_out_move_sooner(frontier, seconds, moves):
    before = placed(frontier.run)
    end_shift(frontier.processes[2].shifts.get(), LEASE_ENDED)
    pass_seconds(seconds)

    take_over_hosts()

    assert (placed(frontier.run) != before) is moves


def test_where_no_process_of_the_run_has_a_worker_all_hosts_stay(frontier):
    before = placed(frontier.run)
    for process in frontier.processes:
        end_shift(process.shifts.get(), "its worker died")
    pass_seconds(ABSENT_SECONDS + 1)

    take_over_hosts()

    assert placed(frontier.run) == before


@pytest.mark.parametrize(
    ("without_shift", "due"),
    [(ABSENT_SECONDS + 1, -9_999), (ABSENT_SECONDS + 1, 1), (1, ABSENT_SECONDS + 1)],
    ids=["nothing is due", "just due", "the shift has just ended"],
)
def test_who_did_not_miss_its_hosts_for_long_is_not_absent(frontier, without_shift, due):
    before = placed(frontier.run)
    end_shift(frontier.processes[2].shifts.get(), "its slice was over")
    pass_seconds(without_shift)
    for rows in (HostQueue.objects.filter(process_number=2), Host.objects):
        rows.update(due_at=timezone.now() - timedelta(seconds=due))

    take_over_hosts()

    assert placed(frontier.run) == before


@pytest.mark.drill
@pytest.mark.timeout(400)
def test_killed_workers_are_taken_over_by_the_rest_and_no_host_ever_sees_two_requests_at_once(
    transactional_db, make_site, order, tmp_path
):
    lock, in_flight, overlaps = threading.Lock(), Counter(), []

    def page(request):
        with lock:
            in_flight[request.host] += 1
            overlaps.extend([request.host] * (in_flight[request.host] > 1))
        time.sleep(0.02)
        with lock:
            in_flight[request.host] -= 1
        return 200, {"Content-Type": "text/html"}, links(*(f"/{n}" for n in range(20)))

    sites = [
        make_site({"/": page, **{f"/{n}": page for n in range(20)}}, address=f"127.0.1.{n}")
        for n in range(1, 41)
    ]
    run = start_run(
        create_crawl(
            order(
                *(f"{site.url}/" for site in sites),
                processes=3,
                delay_seconds=0.5,
                batch_size=5,
                archive=False,
            )
        )
    )

    with running_stack(tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="3") as stack:
        stack.start(SCHEDULER)
        workers = [stack.start(WORKER) for _ in range(3)]
        wait_until(
            lambda: Page.objects.filter(run=run).count() > 60 and all(map(work_process_of, workers))
        )
        for worker in workers[:2]:
            work_process = psutil.Process(work_process_of(worker).pid)
            # so that it can do nothing between the two kills
            os.kill(work_process.pid, signal.SIGSTOP)
            worker.kill()
            worker.wait()
            os.kill(work_process.pid, signal.SIGKILL)
        wait_until(lambda: run.processes.filter(serving=False).count() == 2, seconds=60)
        (left,) = run.processes.filter(serving=True)
        assert set(placed(run).values()) == {left.number}
        stack.start(WORKER)
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES, seconds=120)

    assert overlaps == []
    assert Page.objects.filter(run=run).count() == 40 * 21
    assert (
        min(later.at - earlier.at for site in sites for earlier, later in pairwise(site.log)) >= 0.5
    )
