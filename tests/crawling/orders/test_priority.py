"""An order's priority is the bank's: who waits with more of it starts first, and urgent crawls may
use what is reserved.
"""

from __future__ import annotations

from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection

from allocation.errors import BankBusy
from allocation.models import Process, Request, RequestState
from allocation.services import (
    PoolLimits,
    change_limits,
    change_process,
    finish_process,
    register_process,
    request_resources,
)
from crawling.base.errors import BadOrder
from crawling.models import CrawlJob
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from tests.crawling.conftest import granted_starts
from tests.crawling.frontier.test_run_lock import waits
from tests.crawling.frontiers import other_connection

SEED = "http://127.0.0.1:8900/"


@pytest.fixture
def hog(pool):
    """A process that holds all workers."""
    process = register_process(pool=pool.pk, label="hog", run_ref="", maximum={"worker": 4})
    request_resources(process=process.pk, amounts={"worker": 4}, request_id=uuid4())
    granted_starts()
    return process


def begin(order, name, **fields):
    return start_run(create_crawl(order(SEED, name=name, claim={"worker": 1}, **fields)))


def started(run):
    return Request.objects.get(process__run_process__run=run).state == RequestState.GRANTED


def test_of_two_that_wait_the_one_of_higher_priority_starts_first(order, pool, hog):
    ordinary, ahead = begin(order, "ordinary"), begin(order, "ahead", priority=5)

    turns = (
        Request.objects.filter(state=RequestState.WAITING)
        .order_by("turn")
        .values_list("process__label", flat=True)
    )
    assert list(turns) == ["ahead", "ordinary"]
    finish_process(process=hog.pk)

    assert started(ordinary)
    assert started(ahead)
    assert [process for process, _ in granted_starts()] == [
        Process.objects.get(label=name).pk for name in ("ahead", "ordinary")
    ]


def test_an_urgent_crawl_starts_out_of_what_is_reserved_and_others_do_not(order, pool):
    change_limits(pool=pool.pk, limits=PoolLimits(reserved={"worker": 3}))

    runs = [
        begin(order, name, priority=priority)
        for name, priority in (("one", 0), ("another", 9), ("urgent", 10))
    ]

    assert [started(run) for run in runs] == [True, False, True]


def test_a_start_that_waits_takes_the_turn_of_its_new_priority(order, hog):
    first, second = begin(order, "first"), begin(order, "second")

    edit_crawl(second.crawl, {"priority": 3})

    turns = (
        Request.objects.filter(state=RequestState.WAITING)
        .order_by("turn")
        .values_list("process__label", flat=True)
    )
    assert list(turns) == ["second", "first"]
    assert not started(first)
    assert CrawlJob.objects.get(name="second").priority == 3


def test_priority_and_max_change_together_or_not_at_all(order, pool, hog):
    run = begin(order, "a crawl")

    with pytest.raises(BadOrder, match="fetch_slots"):
        edit_crawl(run.crawl, {"priority": 3, "claim": {"fetch_slots": 65}})

    assert CrawlJob.objects.get().priority == Process.objects.get(label="a crawl").priority == 0


def test_when_the_bank_refuses_the_claim_the_priority_goes_back(order, hog, monkeypatch):
    run = begin(order, "a crawl")
    real, refused = change_process, []

    def refuses_claims(*, process, limits):
        if limits.maximum:
            refused.append(process)
            raise BankBusy(attempts=3)
        return real(process=process, limits=limits)

    monkeypatch.setattr("crawling.runs.crawls.maximum.change_process", refuses_claims)
    with pytest.raises(BadOrder, match="claim"):
        edit_crawl(run.crawl, {"priority": 3, "claim": {"fetch_slots": 9}})

    assert refused
    assert CrawlJob.objects.get().priority == Process.objects.get(label="a crawl").priority == 0


def test_form_command_and_page_have_it(pool, loopback, client, admin_user):
    create_crawl({"name": "urgent", "seeds": [SEED]})
    call_command("crawl", "edit", "urgent", "--priority", "10", stdout=StringIO())
    crawl = CrawlJob.objects.get()
    client.force_login(admin_user)

    assert crawl.priority == 10
    assert "10: urgent" in client.get(f"/crawls/{crawl.pk}/settings/").content.decode()
    assert 'name="priority" value="10"' in client.get(f"/crawls/{crawl.pk}/scope/").content.decode()
    assert (
        'name="priority" value="10"'
        in client.get(f"/crawls/new/?clone={crawl.pk}").content.decode()
    )


@pytest.mark.django_db(transaction=True)
def test_two_edits_at_once_cannot_each_have_the_last_word_at_one_place(order, pool):
    run = begin(order, "one")

    with other_connection(
        ["SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"edit/{run.crawl_id}"]]
    ):
        assert waits(lambda: edit_crawl(run.crawl, {"priority": 5}))

    assert (
        Process.objects.get(run_process__run=run).priority == CrawlJob.objects.get().priority == 0
    )
    edit_crawl(run.crawl, {"priority": 5})
    assert (
        Process.objects.get(run_process__run=run).priority == CrawlJob.objects.get().priority == 5
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        )
        assert cursor.rowcount == 0
