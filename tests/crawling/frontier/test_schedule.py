"""New URLs come in once each, exactly, in the order in which they were found (SEEDS W11)."""

from collections import Counter
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawling.frontier.admit import schedule
from crawling.frontier.admit.schedule import schedule_urls
from crawling.frontier.rules.hosts import place_hosts
from crawling.frontier.run_lock import locked_run
from crawling.models import Host, HostQueue, Url
from tests.crawling.frontiers import Frontier, candidates, outcome


@pytest.fixture
def frontier(db):
    return Frontier()


@pytest.fixture
def one_fingerprint(monkeypatch):
    """Give every URL the same fingerprint, the highest there is: the next one is the lowest."""
    monkeypatch.setattr(schedule, "fingerprint", lambda url: 2**63 - 1)


def test_each_url_comes_in_once(frontier):
    assert frontier.sow("a.test/1", "a.test/2", "a.test/1") == 2
    assert frontier.sow("a.test/2", "a.test/3") == 1

    assert frontier.urls() == ["a.test/1", "a.test/2", "a.test/3"]
    frontier.check()


def test_the_order_of_ids_is_the_order_of_links(frontier):
    links = [f"{host}.test/{number}" for number in range(300) for host in ("b", "c", "a")]

    frontier.sow(*links, links[5], links[0])

    assert frontier.urls() == links


def test_the_first_of_the_shortest_ways_to_a_url_counts_with_its_page(frontier):
    for depth, via in ((3, 7), (3, 8), (1, 9), (1, 10), (2, 11)):
        frontier.sow("a.test/1", depth=depth, via=via)

    assert list(Url.objects.values_list("depth", "rank", "via", "state")) == [(1, 1.0, 9, "q")]


def test_a_url_that_is_tried_has_the_shortest_way_that_is_found_meanwhile(frontier):
    frontier.sow("a.test/1", depth=3, via=7)
    frontier.claim()

    frontier.sow("a.test/1", depth=1, via=9)

    assert list(Url.objects.values_list("depth", "via")) == [(1, 9)]


def test_of_one_batch_the_shortest_way_counts_too(frontier):
    with locked_run(frontier.run.pk) as run:
        schedule_urls(
            run,
            [
                *candidates("a.test/1", "a.test/2", depth=4, via=7),
                *candidates("a.test/1", depth=2, via=8),
            ],
            numbers=[0],
        )

    assert list(Url.objects.order_by("pk").values_list("url", "depth", "via")) == [
        ("http://a.test/1", 2, 8),
        ("http://a.test/2", 4, 7),
    ]


def test_what_links_give_is_received_by_urls_that_wait_and_the_rest_is_told(db):
    frontier = Frontier(order="opic")
    frontier.sow("a.test/done", "a.test/waits")
    [done] = frontier.claim(1)
    frontier.record(outcome(done))
    links = candidates("a.test/done", "a.test/waits", "a.test/new", depth=1, via=1)
    gains = MappingProxyType({link.address.url: 0.5 for link in links})
    before = dict(Url.objects.values_list("url", "rank"))

    with locked_run(frontier.run.pk) as run:
        scheduled = schedule_urls(run, links, numbers=[0], gains=gains)

    assert scheduled.new == 1
    assert scheduled.known == {"http://a.test/done", "http://a.test/waits"}
    assert scheduled.unspent == {"http://a.test/done": 0.5}
    ranks = dict(Url.objects.values_list("url", "rank"))
    assert ranks["http://a.test/done"] == before["http://a.test/done"]
    assert ranks["http://a.test/waits"] < before["http://a.test/waits"]


def test_two_runs_have_their_own_urls_and_queues_and_share_the_hosts(frontier):
    other = Frontier()

    assert [frontier.sow("a.test/1"), other.sow("a.test/1")] == [1, 1]
    assert Host.objects.count() == 1
    assert HostQueue.objects.count() == 2


def test_nothing_to_sow_is_nothing_sown(frontier):
    assert frontier.sow() == 0


def test_queues_count_their_urls_and_are_due_at_once(frontier):
    frontier.sow("a.test/1", "b.test/1", "a.test/2")
    frontier.sow("a.test/2", "a.test/3")

    assert dict(HostQueue.objects.values_list("host__name", "queued")) == {"a.test": 3, "b.test": 1}
    assert len(frontier.lease()) == 2


def test_a_host_is_queued_at_the_process_on_which_it_is_placed(db):
    frontier = Frontier(processes=4)
    hosts = sorted(f"{number}.test" for number in range(40))

    frontier.sow(*(f"{host}/" for host in hosts[:20]))
    frontier.sow(*(f"{host}/" for host in hosts))

    placed = dict(HostQueue.objects.values_list("host__name", "process_number"))
    assert placed == dict(zip(hosts, place_hosts(hosts, range(4), Counter()), strict=True))


def test_a_new_url_makes_a_queue_due_whose_others_wait_for_a_retry(frontier):
    frontier.sow("a.test/1")
    HostQueue.objects.update(due_at="2100-01-01T00:00Z")

    frontier.sow("a.test/2")

    assert len(frontier.lease()) == 1


@pytest.mark.usefixtures("one_fingerprint")
def test_urls_with_one_fingerprint_all_come_in_once(frontier):
    assert frontier.sow("a.test/1", "a.test/2", "a.test/3", "a.test/1") == 3

    assert frontier.urls() == ["a.test/1", "a.test/2", "a.test/3"]
    assert list(Url.objects.order_by("pk").values_list("fingerprint", flat=True)) == [
        2**63 - 1,
        -(2**63),
        -(2**63) + 1,
    ]


@pytest.mark.usefixtures("one_fingerprint")
@pytest.mark.parametrize("again", [["2", "1"], ["3", "2"], ["3", "1", "2"], ["2", "3", "1", "4"]])
def test_urls_with_one_fingerprint_are_known_again_in_any_company(frontier, again):
    frontier.sow("a.test/1")
    frontier.sow("a.test/2")

    added = frontier.sow(*(f"a.test/{number}" for number in again))

    assert added == len(set(again) - {"1", "2"})
    assert sorted(frontier.urls()) == sorted(
        {"a.test/1", "a.test/2", *(f"a.test/{number}" for number in again)}
    )
    frontier.check()


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), max_size=8), max_size=6)
)
def test_however_fingerprints_collide_the_urls_are_those_of_a_set(db, monkeypatch, batches):
    """Only three fingerprints for twenty URLs: their ways to a free one cross."""
    monkeypatch.setattr(schedule, "fingerprint", lambda url: int(url[-1]) % 3)
    frontier, known = Frontier(), set()

    for batch in batches:
        urls = [f"{host}.test/{number}" for host, number in batch]
        assert frontier.sow(*urls) == len(set(urls) - known)
        known |= set(urls)

    assert sorted(frontier.urls()) == sorted(known)
    frontier.check()
