"""A page that kills its worker is found and set aside; those that were beside it are not."""

from __future__ import annotations

import os
import signal

import pytest

from crawling.frontier.locking import locked_run
from crawling.frontier.retrying import requeue_failed
from crawling.models import Run, Url
from crawling.models.jobs import ENDED_STATES
from crawling.rules.statuses import FetchStatus
from crawling.services.creating import create_crawl, start_run
from crawling.services.shifts import lose_shift
from tests.crawling.frontiers import Frontier, outcome
from tests.stack import KEEPER, WORKER, horse_of, running_stack, wait_until


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


def test_after_a_loss_a_shift_takes_one_suspect_at_a_time(frontier, lose):
    frontier.sow("a.test/1", "a.test/2", "b.test/1")
    frontier.claim()
    lose()
    frontier.sow("a.test/3")

    first = frontier.claim()
    second = frontier.claim()
    frontier.record(outcome(first[0]))
    third = frontier.claim()

    assert [url.url for url in first] == ["http://a.test/1", "http://a.test/3"]
    assert (second, [url.url for url in third]) == ([], ["http://a.test/2"])
    frontier.check()


def test_a_page_that_was_there_at_every_loss_fails_with_a_sentence(frontier, lose):
    frontier.sow("a.test/1", "a.test/2")
    for _ in range(3):
        frontier.claim()
        lose()

    url = Url.objects.get(url="http://a.test/1")
    assert (url.state, url.status) == ("f", FetchStatus.WORKER_DIED)
    assert "died" in url.error
    assert frontier.states() == {"f": 1, "q": 1}
    frontier.check()


def test_a_retry_forgives(frontier, lose):
    frontier.sow("a.test/1")
    for _ in range(3):
        frontier.claim()
        lose()

    with locked_run(frontier.run.pk) as run:
        assert requeue_failed(run, status=None) == 1

    assert Url.objects.get().losses == 0
    frontier.check()


@pytest.mark.django_db(transaction=True)
def test_a_crawl_gets_past_a_page_that_kills_its_worker(make_site, order, tmp_path):
    killed = []

    def killer(request):
        killed.append(horse_of(worker).pid)
        os.kill(killed[-1], signal.SIGKILL)
        return 200, {}, ""

    pages = {f"/{n}": "x" for n in range(30)}
    links = "".join(f'<a href="{path}">x</a>' for path in ["/killer", *pages])
    site = make_site({"/": links, "/killer": killer, **pages})
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=20)))

    with running_stack(tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="3") as stack:
        stack.start(KEEPER)
        worker = stack.start(WORKER)
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES, seconds=40)

    assert len(killed) == 3
    assert list(run.urls.exclude(state="s").values_list("url", "status")) == [(f"{site.url}/killer", FetchStatus.WORKER_DIED)]
