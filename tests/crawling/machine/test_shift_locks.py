"""A shift whose process and worker were both killed is found on its machine at once, by the lock
that its process held; while the worker lives, it closes the shift itself.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from datetime import timedelta

import django_rq
import psutil
import pytest
from django.db import OperationalError
from django.utils import timezone

from allocation.models import Process
from allocation.services import take_lease
from crawling.fetching.worker.rq_worker import ShiftWorker
from crawling.jobs.rq_jobs import SHIFTS
from crawling.machine.shift_locks import abandoned_shifts, hold_shift_lock
from crawling.models import Host
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from tests.stack import wait_until


@pytest.fixture(autouse=True)
def state_of_its_own(settings, tmp_path):
    settings.STATE_DIR = tmp_path


@pytest.fixture
def worker_whose_process_was_killed(tmp_path):
    """Return a function that starts a worker with a work process, kills the latter, and returns the
    worker's process id.
    """
    workers = []

    def start(process_id, epoch, worker):
        ours, theirs = os.pipe()
        pid = os.fork()
        if not pid:
            work_process = os.fork()
            if not work_process:
                with hold_shift_lock(process_id, epoch, worker):
                    signal.pause()
            os.write(theirs, f"{work_process}\n".encode())
            os.waitpid(work_process, 0)
            os.write(theirs, b"killed")
            signal.pause()
        workers.append(pid)
        wait_until(lambda: (tmp_path / "shifts" / f"{process_id}-{epoch}").exists())
        assert list(abandoned_shifts()) == []
        os.kill(int(os.read(ours, 20)), signal.SIGKILL)
        assert os.read(ours, 20) == b"killed"
        for end in (ours, theirs):
            os.close(end)
        return pid

    yield start
    for pid in workers:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@pytest.fixture
def killed(worker_whose_process_was_killed):
    """Return a function that kills a work process and its worker, which its parent has not waited
    for yet.
    """

    def kill(process_id, epoch, worker):
        pid = worker_whose_process_was_killed(process_id, epoch, worker)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)

    return kill


def test_a_shift_is_left_to_its_worker_while_that_lives(worker_whose_process_was_killed):
    pid = worker_whose_process_was_killed(7, 3, "w")

    assert list(abandoned_shifts()) == []
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert list(abandoned_shifts()) == [(7, 3, "w")]


def test_a_shift_is_absent_once_its_process_was_killed_and_is_told_of_once(killed):
    killed(7, 3, "w")

    assert list(abandoned_shifts()) == [(7, 3, "w")]
    assert list(abandoned_shifts()) == []


def test_a_worker_is_told_of_its_own_shift_that_could_not_close_its_books():
    pid = os.fork()
    if not pid:
        with suppress(OperationalError), hold_shift_lock(7, 3, "w"):
            raise OperationalError("PostgreSQL has ended, too")
        os._exit(0)
    os.waitpid(pid, 0)

    assert list(abandoned_shifts(but="w")) == []
    assert list(abandoned_shifts()) == [(7, 3, "w")]


def test_a_shift_that_ended_by_itself_leaves_nothing(tmp_path):
    with hold_shift_lock(7, 3, "w"):
        assert list(abandoned_shifts()) == []

    assert list(abandoned_shifts()) == []
    assert list((tmp_path / "shifts").iterdir()) == []


@pytest.mark.django_db
def test_the_next_sign_of_life_of_a_worker_frees_what_a_killed_one_held(order, killed):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    process = run.processes.get()
    assert take_lease(process=process.bank_process_id, epoch=1, worker="killed")
    shift = begin_shift(process, epoch=1, worker="killed")
    Host.objects.update(shift=shift, lease_until=timezone.now() + timedelta(minutes=1))
    killed(process.bank_process_id, 1, "killed")

    ShiftWorker([django_rq.get_queue(SHIFTS)]).heartbeat()

    shift.refresh_from_db()
    assert "were killed" in shift.ending
    assert not Host.objects.exclude(shift=None).exists()
    # it has asked for the next shift, and got it
    assert Process.objects.get(pk=process.bank_process_id).epoch == 2


class Watching(ShiftWorker):
    """A worker that has a work process, which it has just killed."""

    horse_pid = 1


@pytest.mark.django_db
def test_a_worker_leaves_the_shift_of_its_own_work_process_for_its_report_which_knows_whom_to_blame(
    order, killed
):
    worker = Watching([django_rq.get_queue(SHIFTS)])
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    process = run.processes.get()
    take_lease(process=process.bank_process_id, epoch=1, worker=worker.name)
    shift = begin_shift(process, epoch=1, worker=worker.name)
    killed(process.bank_process_id, 1, worker.name)

    worker.heartbeat()

    shift.refresh_from_db()
    assert shift.ended_at is None
    # another finds it, since the worker above that process was killed
    assert [lost.worker for lost in abandoned_shifts()] == [worker.name]


@pytest.mark.django_db
def test_a_file_of_an_earlier_database_closes_nobodys_shift(order, killed):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    process = run.processes.get()
    take_lease(process=process.bank_process_id, epoch=1, worker="somebody")
    shift = begin_shift(process, epoch=1, worker="somebody")
    killed(process.bank_process_id, 1, "another")

    ShiftWorker([django_rq.get_queue(SHIFTS)]).heartbeat()

    shift.refresh_from_db()
    assert shift.ended_at is None
