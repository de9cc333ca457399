"""A shift keeps its leased hosts in order: their names hold for as long as DNS says, and no host is
had twice.
"""

import time
from collections import Counter
from types import SimpleNamespace

import pytest

from crawling.fetching.pipeline.context import NoReading, NoShift
from crawling.fetching.shift.host_leases import HostLeases
from crawling.fetching.shift.parts import make_context
from crawling.fetching.shift.workbench import Workbench
from crawling.models import Host
from crawling.orders.sections.fetching import FetchingPart
from crawling.web.fetch.budgets import MemoryBudget
from tests.crawling.fetching.preresolver.test_gate import settle
from tests.crawling.frontiers import Frontier

HELD = {"memory": 64, "bandwidth": 1000, "fetch_slots": 4, "dns_slots": 4}


class Bench(Workbench):
    """A workbench whose fetch threads are as quick as fetch threads can be: whatever comes is
    fetched at once."""

    def __init__(self):
        super().__init__()
        self.brought, self.visits = [], []

    def put(self, visit):
        self.visits.append(visit)
        self.brought.append((visit.host.name, visit.route.resolution.addresses, len(visit.urls)))
        visit.urls.clear()
        super().put(visit)


@pytest.fixture
def turns(transactional_db, dns_server):
    frontier = Frontier()
    crawl = frontier.run.crawl
    crawl.claim, crawl.batch_size = {"fetch_slots": 4}, 1
    crawl.save()
    frontier.shift.process.run = frontier.run
    bench = Bench()
    held = SimpleNamespace(held=HELD, claim=HELD)
    context = make_context(
        frontier.shift, held, MemoryBudget(), FetchingPart(), NoShift(), NoReading()
    )
    turns = HostLeases(frontier.shift, context, bench, dns_slots=lambda: 4)
    turns.frontier, turns.bench = frontier, bench
    yield turns
    turns.close(still_fetching=False)


def test_however_quick_the_fetch_threads_a_host_is_let_go_once_and_after_its_last_url(turns):
    settle("a.test")
    turns.frontier.sow("a.test/1", "a.test/2", "a.test/3")
    turns.lease_more(4)
    for _ in range(4):
        turns.notice_drained()
        turns.refill()

    assert [urls for _, _, urls in turns.bench.brought] == [1, 1, 1]
    assert turns.count() == 0
    assert Host.objects.get(name="a.test").shift is None


@pytest.mark.parametrize(("hosts", "visits"), [(2, 2), (6, 12)])
def test_hosts_that_are_more_than_a_shift_has_room_for_take_turns_and_others_stay(
    turns, monkeypatch, hosts, visits
):
    """A turn is over at once here, and there is room for two: none waits for another's last URL,
    and none goes without need.
    """
    monkeypatch.setattr("crawling.fetching.shift.host_turns.TURN_SECONDS", 0.0)
    monkeypatch.setattr("crawling.fetching.shift.host_leases.HOSTS_PER_THREAD", 2)
    turns.frontier.run.crawl.batch_size = 100
    names = [f"{number}.test" for number in range(hosts)]
    for name in names:
        settle(name)
        turns.frontier.sow(*(f"{name}/{number}" for number in range(40)))
    turns.lease_more(1)
    for _ in range(5):
        turns.notice_drained()
        turns.refill()
        turns.lease_more(1)

    assert Counter(name for name, *_ in turns.bench.brought) == dict.fromkeys(names, 12 // hosts)
    assert len({id(visit) for visit in turns.bench.visits}) == visits
    # so that none has many when others wait
    assert {urls for *_, urls in turns.bench.brought} == {5}


def test_nobody_makes_room_for_a_host_that_is_left_to_another_crawl(turns, monkeypatch):
    monkeypatch.setattr("crawling.fetching.shift.host_turns.TURN_SECONDS", 0.0)
    monkeypatch.setattr("crawling.fetching.shift.host_leases.HOSTS_PER_THREAD", 2)
    Frontier().sow("a.test/1")
    for name in ("a.test", "b.test"):
        settle(name)
        turns.frontier.sow(*(f"{name}/{number}" for number in range(9)))
    turns.lease_more(1)
    for _ in range(4):
        turns.notice_drained()
        turns.refill()

    assert Counter(name for name, *_ in turns.bench.brought) == {"a.test": 1, "b.test": 5}
    assert turns.count() == 1


def test_an_address_is_asked_for_again_once_it_has_expired(turns, dns_server):
    dns_server.hosts["a.test"] = ["192.0.2.9"]
    settle("a.test", lives=1.5, age=10)
    turns.frontier.sow("a.test/1", "a.test/2")
    turns.lease_more(4)
    time.sleep(1.6)  # the answer's own life
    until = time.monotonic() + 10
    while len(turns.bench.brought) < 2 and time.monotonic() < until:
        turns.notice_drained()
        turns.refill()
        time.sleep(0.02)

    assert [addresses for _, addresses, _ in turns.bench.brought] == [
        ("192.0.2.1",),
        ("192.0.2.9",),
    ]


def test_a_host_that_stands_aside_does_so_when_it_was_let_go_and_is_leased_again(turns):
    settle("a.test")
    turns.frontier.sow("a.test/1")
    turns.lease_more(4)
    turns.bench.visits[0].penalty_until = until = time.monotonic() + 60
    turns.notice_drained()
    turns.refill()
    gone = turns.count()
    turns.frontier.sow("a.test/2")
    turns.lease_more(4)

    assert gone == 0
    assert [visit.penalty_until for visit in turns.bench.visits[1:]] == [until]
