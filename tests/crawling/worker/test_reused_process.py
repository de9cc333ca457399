"""A work process runs one shift after the other, as long as it is as good as a new one."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from itertools import count

import django_rq
import psutil
import pytest
from django.db import connection

from crawling.crawls.creation import create_crawl, start_run
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.models import Run, Shift
from crawling.models.jobs import ENDED_STATES
from crawling.rq_jobs import SHIFTS
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until, work_process_of

pytestmark = pytest.mark.django_db(transaction=True)


def command(name):
    return [*WORKER[:4], f"tests.crawling.worker.noting.{name}", *WORKER[5:]]


@pytest.fixture
def started(make_site, order):
    """Start a crawl of a page and a link of it, on a host of its own."""
    numbers = count(2)

    def start(answer="x"):
        pages = {"/": '<a href="/a">a</a>', "/a": answer}
        number = next(numbers)
        site = make_site(pages, address=f"127.0.0.{number}")
        return start_run(create_crawl(order(f"{site.url}/", name=f"crawl {number}")))

    return start


def have_ended(*runs):
    pks = [run.pk for run in runs]
    return Run.objects.filter(pk__in=pks, state__in=ENDED_STATES).count() == len(runs)


def no_job_is_at_work():
    return not django_rq.get_queue(SHIFTS).started_job_registry.get_job_count(cleanup=False)


def fetched(*runs):
    return [crawl_view(run.crawl).counts.fetched for run in runs]


@contextmanager
def noted(tmp_path, name="NotingWorker", **settings):
    """A stack with that worker, and a list of the processes that have begun a job so far."""
    notes = tmp_path / "notes"
    notes.touch()
    with running_stack(tmp_path, NOTES=str(notes), **settings) as stack:
        stack.start(SCHEDULER)
        yield stack.start(command(name)), lambda: [int(pid) for pid in notes.read_text().split()]


def test_shifts_of_several_crawls_run_in_one_work_process(started, tmp_path):
    runs = [started() for _ in range(4)]

    with noted(tmp_path) as (_, begun):
        wait_until(lambda: have_ended(*runs))
        pids = begun()

        assert len(pids) == Shift.objects.count() >= 4
        # on a busy machine a pause of several seconds between two may have ended it
        assert len(set(pids)) < len(pids)
    assert fetched(*runs) == [2] * 4
    assert not any(map(psutil.pid_exists, pids))


def test_a_work_process_that_has_grown_is_replaced(started, tmp_path):
    runs = [started() for _ in range(3)]

    with noted(tmp_path, "SwellingWorker") as (_, begun):
        wait_until(lambda: have_ended(*runs))

    assert len(set(begun())) == len(begun()) >= 3


def test_a_work_process_without_a_job_ends_soon(started, tmp_path):
    run = started()

    with noted(tmp_path) as (worker, begun):
        wait_until(lambda: have_ended(run) and work_process_of(worker) is None, seconds=60)
        another = started()
        wait_until(lambda: have_ended(another))

        assert len(set(begun())) == 2


def test_one_that_is_killed_while_it_waits_costs_nothing(started, tmp_path):
    first = started()

    with noted(tmp_path) as (worker, begun):
        wait_until(lambda: have_ended(first) and no_job_is_at_work())
        if spare := work_process_of(worker):
            os.kill(spare.pid, signal.SIGKILL)
        second = started()
        wait_until(lambda: have_ended(second))

        assert len(set(begun())) == 2
    assert not Shift.objects.filter(ending__startswith="lost").exists()


def test_one_whose_session_postgresql_has_ended_takes_the_next_shift(started, tmp_path):
    first = started()

    with noted(tmp_path) as (_, begun):
        wait_until(lambda: have_ended(first) and no_job_is_at_work())
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
                " current_database() AND pid <> pg_backend_pid() AND state = 'idle'"
            )
        second = started()
        wait_until(lambda: have_ended(second))

        assert len(begun()) == 2
    assert not Shift.objects.filter(ending__startswith="lost").exists()


def test_of_one_that_is_killed_in_a_later_shift_only_that_shift_is_lost(started, tmp_path):
    asked, answered = threading.Event(), threading.Event()

    def hang(request):
        asked.set()
        answered.wait(60)
        return 200, {"Content-Type": "text/html"}, "x"

    first, second = started(), started(hang)

    with noted(tmp_path, BANK_LEASE_SECONDS="30") as (worker, _):
        wait_until(asked.is_set)
        work_process_of(worker).kill()
        answered.set()
        wait_until(lambda: have_ended(first, second))

    lost = Shift.objects.filter(ending__startswith="lost")
    assert [shift.process.run_id for shift in lost] == [second.pk]
    assert fetched(first, second) == [2, 2]
