"""The gate: while a pre-resolver runs, a crawl takes only hosts whose name is settled."""

import time

import pytest
from django.db import connection

from crawling.frontier import seconds_until_due
from crawling.frontier.waiting_names import due_names
from crawling.models import Host, HostQueue
from crawling.scheduler.duties import start_due_crawls
from crawling.web.addresses import dns_name
from dnscache import store
from dnscache.preresolver.preresolver import LaneState, end_heartbeat, send_heartbeat
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from tests.crawling.frontiers import Frontier

OK = Reply(DnsStatus.OK, ("192.0.2.1",), ttl=60)


@pytest.fixture
def frontier(db):
    return Frontier()


def live(machine="m"):
    return send_heartbeat(
        machine, slots=8, lanes=LaneState(0, 0, 0, 0, {}), names=0, threads_saved=0.0
    )


def settle(name, *, reply=OK, retry_in=None, fails=0, lives=60, age=0):
    now = time.time()
    store.write_answers(
        [
            DnsAnswer(
                name,
                reply,
                now - age,
                now + lives,
                None if retry_in is None else now + retry_in,
                fails,
            )
        ]
    )


def broken(name, retry_in=40, fails=1):
    settle(name, reply=Reply(DnsStatus.TIMEOUT), retry_in=retry_in, fails=fails, lives=0)


def leased(frontier):
    return [host.name for host in frontier.lease()]


def test_a_host_is_held_back_until_its_name_is_settled_alive_or_dead(frontier):
    live()
    frontier.sow("a.test/1", "b.test:8080/1", "c.test/1", "127.0.0.1/1", "localhost/1")
    settle("b.test", reply=Reply(DnsStatus.NXDOMAIN, ttl=60))
    broken("c.test")

    assert sorted(leased(frontier)) == ["127.0.0.1", "b.test:8080", "localhost"]

    settle("a.test")
    assert leased(frontier) == ["a.test"]


@pytest.mark.parametrize("opened", ["nobody", "silent", "resting", "ungated", "off"])
def test_the_gate_is_open_where_nobody_settles_names(frontier, settings, opened):
    frontier.sow("a.test/1")
    if opened != "nobody":
        live()
        assert leased(frontier) == []
    if opened == "silent":
        with connection.cursor() as cursor:
            cursor.execute("UPDATE dnscache_dnspreresolver SET beat_at = beat_at - interval '6 s'")
    elif opened == "resting":
        end_heartbeat("m")
    elif opened != "nobody":
        settings.DNS_AHEAD = opened

    assert leased(frontier) == ["a.test"]


def test_a_shift_does_not_sit_and_wait_for_a_name_that_rests(frontier):
    live()
    frontier.sow("a.test/1")
    assert seconds_until_due(frontier.processes[0]) <= 0

    broken("a.test")

    assert 35 < seconds_until_due(frontier.processes[0]) <= 40
    start_due_crawls()  # asks the same of all runs at once


def test_names_to_ask_are_those_due_soon_and_unsettled_the_earliest_first(frontier):
    frontier.sow(
        "old.test/1",
        "new.test/1",
        "b.test/1",
        "b.test:81/1",
        "resting.test/1",
        "later.test/1",
        "127.0.0.1/1",
    )
    settle("old.test")
    broken("resting.test")
    Host.objects.filter(name="later.test").update(due_at="2100-01-01T00:00Z")
    Host.objects.filter(name="b.test:81").update(due_at="2020-01-01T00:00Z")

    due = due_names(time.time() + 10)

    assert [one.due for one in due] == sorted(one.due for one in due)
    assert {one.name for one in due} == {"b.test", "new.test"}


def test_names_that_links_were_found_to_last_may_go_first(frontier, settings):
    """The patent's variant, whenever their hosts come due."""
    frontier.sow("old.test/1", "older.test/1")
    frontier.sow("linked.test/1", "old.test/2")
    older = HostQueue.objects.filter(host__name="older.test")
    older.update(due_at="2020-01-01T00:00Z")
    Host.objects.filter(name="older.test").update(due_at="2020-01-01T00:00Z")
    assert due_names(time.time() + 10)[0].name == "older.test"

    settings.DNS_AHEAD_FIRST = "linked"
    due = due_names(time.time() + 10)

    assert (due[0].name, due[0].rank) == ("linked.test", min(one.rank for one in due))


def test_machines_share_the_names_out(frontier):
    frontier.sow(*[f"h{n}.test/1" for n in range(20)])
    assert live("m") == (0, 1)
    assert live("n") == (1, 2)

    shares = [
        {one.name for one in due_names(time.time() + 10, place=place, machines=2)}
        for place in (0, 1)
    ]

    assert shares[0] & shares[1] == set()
    assert len(shares[0] | shares[1]) == 20
    assert all(shares)


@pytest.mark.parametrize(
    ("host_key", "name"),
    [
        ("a.test", "a.test"),
        ("a.test.:81", "a.test"),
        ("127.0.0.1:81", ""),
        ("[::1]:81", ""),
        ("[::1]", ""),
        ("localhost", ""),
        ("a..b", ""),
    ],
)
def test_the_name_that_is_asked_for(host_key, name):
    assert dns_name(host_key) == name
