"""A work process runs one shift after the other, as long as it is as good as a new one."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import threading
from contextlib import contextmanager
from itertools import count

import django_rq
import psutil
import pytest
from django.db import connection

from crawling.dashboard.base.crawl_views import crawl_view
from crawling.fetching.worker.reused_process import READY
from crawling.fetching.worker.rq_worker import ShiftWorker
from crawling.jobs.rq_jobs import SHIFTS
from crawling.models import Run, Shift
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.fetching.worker.test_own_jobs import Opened
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until, work_process_of

pytestmark = pytest.mark.django_db(transaction=True)


def command(name):
    return [*WORKER[:4], f"tests.crawling.fetching.worker.noting.{name}", *WORKER[5:]]


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


def sessions():
    """The numbers of the test database's sessions; those of this process stay from test to test."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return {pid for (pid,) in cursor.fetchall()}


def test_one_whose_session_postgresql_has_ended_takes_the_next_shift(started, tmp_path):
    first = started()
    before = sessions()

    with noted(tmp_path) as (_, begun):
        wait_until(lambda: have_ended(first) and no_job_is_at_work())
        with connection.cursor() as cursor:
            new = list(sessions() - before)
            cursor.execute("SELECT pg_terminate_backend(pid, 5000) FROM unnest(%s) AS pid", [new])
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


def test_what_redis_says_depends_on_a_further_job_is_not_unpickled(started, tmp_path):
    runs, mark, notes = [started() for _ in range(3)], tmp_path / "mark", tmp_path / "notes"
    queue, redis = django_rq.get_queue(SHIFTS), django_rq.get_connection(SHIFTS)

    with running_stack(tmp_path, NOTES=str(notes)) as stack:
        stack.start(SCHEDULER)
        wait_until(lambda: len(queue.get_job_ids()) > 1)
        redis.hset("rq:job:planted", mapping={"data": "[]", "result": pickle.dumps(Opened(mark))})
        redis.sadd(f"rq:job:{queue.get_job_ids()[1]}:dependents", "planted")
        stack.start(command("NotingWorker"))
        wait_until(lambda: have_ended(*runs))

    redis.delete("rq:job:planted")
    pids = notes.read_text().split()
    assert pids[0] == pids[1]
    assert not mark.exists()


def test_a_shift_closes_its_connections(crawl_to_the_end, make_site):
    site = make_site({"/": "x"})

    crawl_to_the_end(f"{site.url}/")

    ours = psutil.Process().net_connections()
    assert site.connections
    assert not [one for one in ours if one.raddr and one.raddr.port == site.port]


def test_an_answer_that_comes_as_an_alarm_does_is_there_at_the_next_look():
    """RQ's alarm breaks a wait off at any point, also when the answer has been received."""
    worker = ShiftWorker([django_rq.get_queue(SHIFTS)], connection=django_rq.get_connection(SHIFTS))
    worker._link, of_the_work_process = socket.socketpair()
    with worker._link, of_the_work_process:
        worker._horse_pid = os.getpid()
        of_the_work_process.sendall(READY)

        looks = [worker.wait_for_horse() for _ in range(2)]

    assert looks == [(os.getpid(), os.EX_OK, None)] * 2
