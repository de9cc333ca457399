"""A page that kills its worker is found and set aside; those that were beside it are not."""

from __future__ import annotations

import os
import signal
from collections import Counter

import django_rq
import pytest
from django.db import (
    DatabaseError,
    DataError,
    InterfaceError,
    InternalError,
    OperationalError,
    connections,
    transaction,
)
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.errors import IdleInTransactionSessionTimeout
from redis.exceptions import ConnectionError as RedisGone

from crawling.fetching.worker.own_jobs import RUN_SHIFT
from crawling.fetching.worker.rq_worker import DIED, SERVER_GONE, ShiftWorker
from crawling.frontier import claim_urls, locked_run
from crawling.frontier.change.manual_order import requeue_failed
from crawling.frontier.rules.poison_suspects import SUSPECTS_AT_ONCE
from crawling.jobs.rq_jobs import SHIFTS
from crawling.models import HostQueue, Run, Shift, Url
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift, is_server_loss, lose_shift
from crawling.runs.start import start_run
from crawling.web.statuses import FetchStatus
from tests.crawling.frontiers import Frontier, outcome
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until, work_process_of

pytestmark = pytest.mark.slow


@pytest.fixture
def frontier(db):
    return Frontier()


@pytest.fixture
def lose(frontier):
    """Return a function that loses the current shift and begins the next."""

    def lose():
        lose_shift(frontier.processes[0], frontier.shift.epoch, "killed", is_dead=True)
        frontier.shift = frontier.begin_shift()

    return lose


def test_after_a_loss_a_shift_takes_one_suspect_of_each_host(frontier, lose):
    frontier.sow("a.test/1", "a.test/2", "b.test/1")
    frontier.claim()
    lose()
    frontier.sow("a.test/3")

    first, none = frontier.claim(), frontier.claim()
    frontier.record(outcome(first[0]))
    second = frontier.claim()

    assert none == []
    assert {url.url for url in first} == {
        f"http://{name}" for name in ("a.test/1", "a.test/3", "b.test/1")
    }
    assert [url.url for url in second] == ["http://a.test/2"]
    frontier.check()


def test_a_shift_has_few_suspects_at_a_time(frontier, lose):
    frontier.sow(*(f"h{number}.test/1" for number in range(SUSPECTS_AT_ONCE + 2)))
    frontier.claim()
    lose()

    first, none = frontier.claim(), frontier.claim()
    frontier.record(outcome(first[0]))

    assert (len(first), none, len(frontier.claim())) == (SUSPECTS_AT_ONCE, [], 1)
    frontier.check()


def test_a_page_that_was_there_at_every_loss_fails_with_a_sentence(frontier, lose):
    frontier.sow("a.test/1", "a.test/2")
    for _ in range(4):
        frontier.claim()
        lose()

    url = Url.objects.get(url="http://a.test/1")
    assert (url.state, url.status) == ("f", FetchStatus.WORKER_DIED)
    assert "died" in url.error
    assert frontier.states() == {"f": 1, "q": 1}
    frontier.check()


def test_what_was_lost_twice_is_tried_with_nothing_beside_it(frontier, lose):
    frontier.sow("a.test/1")
    for _ in range(2):
        frontier.claim()
        lose()
    frontier.sow("a.test/2", "b.test/1")

    alone, beside = frontier.claim(), frontier.claim()
    frontier.record(outcome(alone[0]))
    rest = frontier.claim()

    assert ([url.url for url in alone], beside) == (["http://a.test/1"], [])
    assert {url.url for url in rest} == {"http://a.test/2", "http://b.test/1"}
    frontier.check()


def test_what_is_tried_alone_does_not_join_others(frontier, lose):
    frontier.sow("a.test/1")
    for _ in range(2):
        frontier.claim()
        lose()
    frontier.sow("b.test/1")
    claim_urls(frontier.shift, {frontier.queues()[1]: 1})

    assert frontier.claim() == []
    frontier.record(*frontier.in_hand())
    assert [url.url for url in frontier.claim()] == ["http://a.test/1"]


def test_a_queue_whose_suspects_are_kept_back_is_due_though_another_of_its_urls_rests(
    frontier, lose
):
    frontier.sow("a.test/1", "a.test/2", "a.test/3")
    frontier.claim()
    lose()
    Url.objects.filter(url="http://a.test/3").update(due_at="2100-01-01T00:00Z")
    frontier.claim()

    assert HostQueue.objects.get().due_at < timezone.now()


def test_no_page_is_blamed_when_postgresql_was_started_anew(frontier, lose):
    frontier.sow("a.test/1")
    frontier.claim()
    Shift.objects.update(started_at="2000-01-01T00:00Z")
    frontier.shift.refresh_from_db()
    lose()

    assert Url.objects.get().losses == 0


@pytest.mark.django_db
@given(
    st.lists(
        st.sampled_from(["claim", "claim one", "record", "lose", "sow"]), min_size=6, max_size=16
    )
)
@settings(max_examples=12, deadline=None)
def test_whatever_is_lost_only_what_was_alone_twice_fails_and_all_others_get_their_turn(deeds):
    with transaction.atomic():
        frontier, alone_losses = Frontier(), Counter()
        frontier.sow(*(f"{host}.test/{n}" for host in "ab" for n in range(2)))
        for place, deed in enumerate([*deeds, *["record", "claim"] * 9]):
            hand = dict(frontier.run.urls.filter(state="p").values_list("url", "losses"))
            if deed == "sow":
                frontier.sow(f"c.test/{place}")
            elif deed == "record":
                frontier.record(*frontier.in_hand())
            elif deed == "lose":
                alone_losses.update(hand if len(hand) == 1 else ())
                lose_shift(frontier.processes[0], frontier.shift.epoch, "killed", is_dead=True)
                frontier.shift = frontier.begin_shift()
                frontier.check()  # not after each deed: that takes longer than all else together
            else:
                frontier.claim(1 if deed == "claim one" else 100)
            judge_hand([url.losses for url in frontier.run.urls.filter(state="p")])
            assert all(
                alone_losses[url] >= 2
                for url in frontier.run.urls.filter(state="f").values_list("url", flat=True)
            )
        frontier.check()
        assert not frontier.run.urls.filter(state__in="qp").exists()
        transaction.set_rollback(True)


def judge_hand(losses):
    assert sum(1 for count in losses if count) <= SUSPECTS_AT_ONCE
    assert len(losses) <= 1 or max(losses) < 2


@pytest.fixture
def broken_errors():
    """The error of a statement whose session an operator has ended, and that of one that takes too
    long.
    """
    errors = []
    for statements in (
        ["SELECT pg_terminate_backend(pg_backend_pid())"],
        ["SET statement_timeout = 10", "SELECT pg_sleep(9)"],
    ):
        other = connections["default"].copy()
        try:
            with other.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        except OperationalError as error:
            errors.append(error)
        finally:
            other.close()
    return errors


@pytest.mark.django_db
def test_a_server_that_went_away_is_told_from_what_a_page_may_bring_about(broken_errors):
    ended, too_slow = broken_errors
    stood_still = InternalError()
    stood_still.__cause__ = IdleInTransactionSessionTimeout()
    gone = (ended, stood_still, InterfaceError("closed"), RedisGone())

    assert [is_server_loss(error) for error in gone] == [True] * 4
    assert [
        is_server_loss(error) for error in (too_slow, DataError("too long"), MemoryError(), None)
    ] == [False] * 4


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "losses"),
    [(OperationalError("the connection is closed"), 0), (DataError("too long"), 1)],
)
def test_a_worker_whose_work_process_lost_its_server_blames_no_page(
    transactional_db, order, error, losses
):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    process = run.processes.get()
    claim_urls(begin_shift(process, epoch=1, worker="w"), {run.queues.get().pk: 1})
    queue = django_rq.get_queue(SHIFTS)
    job = queue.enqueue_call(RUN_SHIFT, args=(process.bank_process_id, 1))
    worker = ShiftWorker([queue], name="w")
    worker.make_ready()  # as before each job: a thread of another test may be at a page

    try:
        raise error
    except DatabaseError:
        worker.handle_job_failure(job, queue)

    assert list(run.urls.values_list("state", "losses")) == [("q", losses)]
    assert run.log.filter(message__contains=SERVER_GONE if losses == 0 else DIED).exists()


def test_a_retry_forgives(frontier, lose):
    frontier.sow("a.test/1")
    for _ in range(4):
        frontier.claim()
        lose()

    with locked_run(frontier.run.pk) as run:
        assert requeue_failed(run.pk, status=None) == 1

    assert Url.objects.get().losses == 0
    frontier.check()


@pytest.mark.django_db(transaction=True)
def test_a_crawl_gets_past_a_page_that_kills_its_worker(make_site, order, tmp_path):
    killed = []

    def killer(request):
        killed.append(work_process_of(worker).pid)
        os.kill(killed[-1], signal.SIGKILL)
        return 200, {}, ""

    pages = {f"/{n}": "x" for n in range(30)}
    links = "".join(f'<a href="{path}">x</a>' for path in ["/killer", *pages])
    site = make_site({"/": links, "/killer": killer, **pages})
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=20)))

    with running_stack(tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="3") as stack:
        stack.start(SCHEDULER)
        worker = stack.start(WORKER)
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES, seconds=110)

    assert len(killed) == 4
    assert list(run.urls.exclude(state="s").values_list("url", "status")) == [
        (f"{site.url}/killer", FetchStatus.WORKER_DIED)
    ]
