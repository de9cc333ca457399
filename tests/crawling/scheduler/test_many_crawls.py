"""Many crawls at once: the scheduler's work depends on what changed, and not on how many wait."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.backends.signals import connection_created
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from allocation.models import OutboxKind, Process, Request
from allocation.services import reap_expired, take_lease, unsent_outbox
from crawling.frontier import run_lock, waiting_names
from crawling.frontier.change.manual_order import UrlAction
from crawling.machine.notices import StopEvent
from crawling.models import Host, Run, RunProcess, Shift
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.blocklist import add_entry
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.rejudgement import rejudge_live_runs
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from crawling.runs.waiting_urls import change_urls
from crawling.scheduler import messages
from crawling.scheduler.duties import Progress, settle_interrupted_runs
from crawling.scheduler.messages import deliver_messages, deliver_other_messages, deliver_starts
from crawling.scheduler.rounds import Duty, do_round, duties, run_scheduler
from tests.races.conftest import rival
from tests.stack import wait_until

pytestmark = pytest.mark.slow

__all__ = ["rival"]


@pytest.fixture
def start(order):
    """start(3) starts so many crawls on hosts of their own; the first gets the only worker."""
    started: list[Run] = []

    def some(count: int, **fields) -> list[Run]:
        for _ in range(count):
            number = len(started) + 1
            seed = f"http://127.0.0.{number}:8900/"
            started.append(start_run(create_crawl(order(seed, name=f"crawl {number}", **fields))))
        return started[-count:]

    return some


@pytest.fixture
def one_worker(pool):
    """The pool has a worker for one crawl only."""
    keys = pool.classes.values_list("key", flat=True)
    each = zip(keys, pool.capacity, strict=True)
    units = [1 if key == "worker" else units for key, units in each]
    pool.capacity = pool.available = units
    pool.save()
    return pool


def statements_of_a_round() -> int:
    """How many statements all duties take, done once each after a first time."""
    rounds = [duty.do for duty in duties()]
    for do in rounds:
        do()
    with CaptureQueriesContext(connection) as asked:
        for do in rounds:
            do()
    return len(asked)


def test_a_round_takes_as_many_statements_however_many_wait(one_worker, start, queue):
    start(3)
    few = statements_of_a_round()

    start(9)

    assert Request.objects.filter(state="waiting").count() == 11
    assert statements_of_a_round() == few


def test_a_duty_that_would_take_long_goes_on_in_its_next_turn_which_is_due_at_once(
    start, queue, monkeypatch
):
    monkeypatch.setattr(messages, "AT_A_TIME_SECONDS", 0)
    start(2)
    delivery = [Duty(deliver_starts, 60.0)]

    assert do_round(delivery, 1.0) is Progress.UNFINISHED
    assert len(queue.jobs) == 1
    assert do_round(delivery, 1.0) is Progress.DONE
    assert len(queue.jobs) == 2


@contextmanager
def keeping():
    """A scheduler at work in this process."""
    ending = StopEvent()
    scheduler = threading.Thread(target=run_scheduler, args=(ending,))
    scheduler.start()
    try:
        yield
    finally:
        ending.set()
        scheduler.join(30)


@pytest.mark.django_db(transaction=True)
def test_a_grant_is_delivered_while_a_duty_waits(start, queue, rival):
    rival.execute("LOCK TABLE crawling_disksample")  # the duty that measures the disk waits for it

    with keeping():
        wait_until(lambda: waiting_for("crawling_disksample"))
        start(1)
        wait_until(lambda: queue.jobs)
        assert waiting_for("crawling_disksample")
        rival.rollback()

    assert [job.args for job in queue.jobs] == [[Process.objects.get().pk, 1]]


def waiting_for(table: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = %s::regclass AND NOT granted "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))",
            [table],
        )
        return cursor.fetchone()[0]


def test_a_run_that_waits_ends_when_the_rules_leave_it_nothing(one_worker, start):
    _, waits = start(2)
    add_entry("prefix", "http://127.0.0.2:8900/", "it asked us to stay away")

    rejudge_live_runs()

    waits.refresh_from_db()
    assert waits.state in ENDED_STATES
    assert not Request.objects.filter(state="waiting").exists()


def test_a_run_that_waits_ends_when_an_operator_takes_out_its_last_url(one_worker, start):
    _, waits = start(2)

    change_urls(waits, UrlAction.TAKE_OUT, list(waits.urls.values_list("pk", flat=True)))

    waits.refresh_from_db()
    assert waits.state in ENDED_STATES


def test_a_run_that_waits_ends_at_its_limit_of_time(one_worker, start):
    _, waits = start(2, max_seconds=60)
    began = timezone.now() - timedelta(seconds=61)
    Run.objects.filter(pk=waits.pk).update(state="running", started_at=began)

    settle_interrupted_runs()

    waits.refresh_from_db()
    assert "60 seconds is reached" in waits.reason


@pytest.fixture
def lost_shifts(start, settings):
    """Two runs, each with a shift whose lease has run out, and the messages that say so."""
    settings.BANK_LEASE_SECONDS = 0
    runs = start(2)
    deliver_messages()
    for process in RunProcess.objects.all():
        take_lease(process=process.bank_process_id, epoch=1, worker="lost")
        begin_shift(process, epoch=1, worker="lost")
    reap_expired()
    return runs


def open_shifts() -> list[int]:
    return list(Shift.objects.filter(ended_at=None).values_list("process__run", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_lost_shift_is_closed_while_another_runs_row_is_held(lost_shifts, rival, monkeypatch):
    monkeypatch.setattr(run_lock, "PATIENCE", "50ms")
    first, _ = lost_shifts
    rival.execute("SELECT FROM crawling_run WHERE id = %s FOR UPDATE", [first.pk])

    with pytest.raises(OperationalError, match="lock"):
        deliver_other_messages()
    assert open_shifts() == [first.pk]

    rival.rollback()
    deliver_other_messages()
    assert open_shifts() == []


def test_the_lost_shift_of_a_run_that_is_being_deleted_stops_nobody(lost_shifts):
    first, _ = lost_shifts
    Run.objects.filter(pk=first.pk).update(removal_asked_at=timezone.now())

    deliver_other_messages()

    assert open_shifts() == [first.pk]
    assert not unsent_outbox(kinds=[OutboxKind.REAPED])


def test_names_are_resolved_for_who_fetches_and_for_the_front_of_the_line(
    one_worker, start, queue, monkeypatch
):
    """A look at the names of all that wait would take longer each second the more they are."""
    monkeypatch.setattr(waiting_names, "FIRST_IN_LINE", 1)
    start(4)
    for number in range(1, 5):
        host = Host.objects.filter(name=f"127.0.0.{number}:8900")
        host.update(dns_name=f"h{number}.test")

    due = waiting_names.due_names(time.time() + 10)

    assert {one.name for one in due} == {"h1.test", "h2.test"}


def test_a_small_crawl_takes_few_statements_and_one_connection(order, make_site, work_off):
    """The crawl took 152 without the job for its links, and three connections: more of the
    processor than its pages.
    """
    links = '<a href="/a">a</a> <a href="/b">b</a>'
    site = make_site({"/": links, "/a": "one", "/b": "two"})
    run = start_run(create_crawl(order(f"{site.url}/")))
    opened: list[str] = []

    def note(sender, connection, **told):
        opened.append(threading.current_thread().name)

    connection_created.connect(note)
    try:
        with CaptureQueriesContext(connection) as asked:
            work_off(run)
    finally:
        connection_created.disconnect(note)

    run.refresh_from_db()
    assert run.state == "finished"
    assert set(opened) <= {"MainThread"}
    # 165 were seen on a busy machine; the job for its links takes 13, which no later round does now
    assert len(asked) <= 170
