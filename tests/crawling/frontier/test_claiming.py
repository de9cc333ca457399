"""URLs are handed out in order, when due, and never beyond the limit."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crawling.frontier.due_queues import seconds_until_due
from crawling.frontier.leases import claim_urls
from crawling.frontier.run_limits import claimable_urls, pages_left, queue_uses
from crawling.frontier.types import ServerAnswer
from crawling.models import CrawlJob, HostQueue, Run, Url
from crawling.web.statuses import FetchStatus
from tests.crawling.frontiers import Frontier, outcome, rows

#: statements of a claim of a run that has no limit, with those of its transaction
WITHOUT_LIMITS = 7
ANSWER = ServerAnswer(200, "http://a.test/", "text/html", 10, 1, "127.0.0.1", 0.1, timezone.now())


@pytest.fixture
def frontier(db):
    return Frontier()


def urls(claimed):
    return [url.url.removeprefix("http://") for url in claimed]


def test_urls_come_by_depth_and_in_the_order_in_which_they_were_found(frontier):
    frontier.sow("a.test/deep", depth=2)
    frontier.sow("a.test/1", "a.test/2", depth=1)
    frontier.sow("a.test/seed")

    assert urls(frontier.claim()) == ["a.test/seed", "a.test/1", "a.test/2", "a.test/deep"]


def test_a_url_is_handed_out_once_and_counts_the_try(frontier):
    frontier.sow("a.test/1", "a.test/2", "a.test/3")

    first, second, third = frontier.claim(2), frontier.claim(2), frontier.claim(2)

    assert [urls(claimed) for claimed in (first, second, third)] == [
        ["a.test/1", "a.test/2"],
        ["a.test/3"],
        [],
    ]
    assert {url.attempts for url in first + second} == {1}
    frontier.check()


def test_each_queue_gives_as_many_as_were_wanted_of_it(frontier):
    frontier.sow(*(f"{host}.test/{number}" for host in "abc" for number in range(5)))
    a, b, c = frontier.queues()

    claimed = claim_urls(frontier.shift, {a: 1, b: 3, c: 0})

    assert {queue: len(urls) for queue, urls in claimed.items()} == {a: 1, b: 3, c: 0}


def test_a_url_that_is_to_be_tried_later_is_not_handed_out_before(frontier):
    frontier.sow("a.test/1", "a.test/2")
    first, second = frontier.claim()
    frontier.record(outcome(first, "q", retry_seconds=60), outcome(second, "q", retry_seconds=-1))

    assert [(url.id, url.attempts) for url in frontier.claim()] == [(second.id, 2)]


def test_a_queue_that_holds_only_retries_is_due_with_the_first_of_them(frontier):
    frontier.sow("a.test/1", "a.test/2")
    first, second = frontier.claim()
    frontier.record(outcome(first, "q", retry_seconds=100), outcome(second, "q", retry_seconds=50))

    frontier.claim()

    assert 45 < seconds_until_due(frontier.processes[0]) <= 50
    assert frontier.lease() == []
    assert len(frontier.lease(soon=51)) == 1


def test_a_queue_that_gave_all_that_was_due_waits_for_its_next_retry(frontier):
    frontier.sow("a.test/1", "a.test/2")
    first = frontier.claim(1)[0]
    frontier.record(outcome(first, "q", retry_seconds=100))
    assert seconds_until_due(frontier.processes[0]) <= 0

    assert urls(frontier.claim()) == ["a.test/2"]

    assert 95 < seconds_until_due(frontier.processes[0]) <= 100


def test_without_queued_urls_nothing_is_ever_due(frontier):
    frontier.sow("a.test/1")
    frontier.claim()

    assert seconds_until_due(frontier.processes[0]) is None
    assert frontier.lease() == []


@pytest.mark.parametrize(
    ("limit", "wanted"), [(1, 1), (5, 1), (5, 3), (5, 100), (12, 100), (13, 100)]
)
def test_the_page_limit_is_met_exactly_whatever_is_asked_for_at_a_time(db, limit, wanted):
    frontier = Frontier(max_pages=limit)
    frontier.sow(*(f"{host}.test/{number}" for host in "abc" for number in range(4)))
    fetched = 0

    while claimed := frontier.claim(wanted):
        assert fetched + len(claimed) <= limit
        frontier.record(*(outcome(url, answer=ANSWER) for url in claimed))
        fetched += len(claimed)

    assert fetched == frontier.counts()["fetched"] == min(limit, 12)
    assert pages_left(frontier.run) == limit - fetched


def test_what_is_in_process_counts_towards_the_limit_until_it_ends_without_a_page(db):
    frontier = Frontier(max_pages=2)
    frontier.sow("a.test/1", "a.test/2", "a.test/3", "a.test/4")
    first, second = frontier.claim()

    assert (frontier.claim(), pages_left(frontier.run)) == ([], 0)
    frontier.record(outcome(first, "f", status=-4), outcome(second, "q", retry_seconds=60))
    assert pages_left(frontier.run) == 2
    assert urls(frontier.claim()) == ["a.test/3", "a.test/4"]


def test_without_a_limit_there_are_always_pages_left(frontier):
    assert pages_left(frontier.run) is None


def test_urls_of_two_runs_are_kept_apart(frontier):
    other = Frontier()
    frontier.sow("a.test/1")
    other.sow("a.test/2")

    assert (urls(other.claim()), urls(frontier.claim())) == (["a.test/2"], ["a.test/1"])


def test_a_shift_whose_books_are_closed_is_handed_nothing(frontier):
    """The shift was closed as dead, so its URLs would never be given back."""
    frontier.sow("a.test/1")
    before = HostQueue.objects.values().get()
    frontier.shift.ended_at = timezone.now()
    frontier.shift.save()

    assert frontier.claim() == []
    assert Url.objects.get().state == "q"
    assert HostQueue.objects.values().get() == before


def limited(**budget):
    """A frontier of a literal address, of a host, and of two hosts of a domain, one page of each
    fetched and one in process.
    """
    frontier = Frontier(max_pages=50)
    hosts = ("192.0.2.1", "b.test", "one.c.test", "two.c.test")
    frontier.sow(*(f"{host}/{number}" for host in hosts for number in range(9)))
    frontier.record(*(outcome(url, answer=ANSWER) for url in frontier.claim(1)))
    frontier.claim(1)
    CrawlJob.objects.update(budget=budget)
    return frontier


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        ({}, [9, 9, 9, 9]),
        ({"host_max_pages": 5}, [3, 3, 3, 3]),
        ({"domain_max_pages": 7}, [9, 5, 3, 0]),
        ({"domain_max_pages": 7, "host_max_pages": 4}, [2, 2, 2, 1]),
        ({"host_max_bytes": 20}, [9, 9, 9, 9]),
    ],
)
def test_what_queues_may_give_is_what_their_hosts_and_domains_have_left(db, budget, left):
    frontier = limited(**budget)
    run = Run.objects.get()
    wanted = dict.fromkeys(frontier.queues(), 9)

    limits = claimable_urls(run.crawl.order.budget, queue_uses(run, wanted), wanted)

    assert list(limits.values()) == left


@pytest.mark.parametrize("budget", [{"host_max_pages": 1}, {"domain_max_pages": 2}])
def test_asking_what_queues_may_give_changes_no_row_even_if_some_are_exhausted(db, budget):
    frontier = limited(**budget)
    run = Run.objects.get()
    wanted = dict.fromkeys(frontier.queues(), 9)
    before = rows()

    answers = [
        claimable_urls(run.crawl.order.budget, queue_uses(run, wanted), wanted) for _ in range(2)
    ]

    assert answers[0] == answers[1]
    assert len(answers[0]) < len(wanted)
    assert rows() == before


def test_a_claim_closes_the_exhausted_queues_each_with_what_its_host_or_domain_had(db):
    frontier = limited(domain_max_pages=3, host_max_pages=2)
    frontier.record(*frontier.in_hand())
    frontier.record(*(outcome(url, answer=ANSWER) for url in frontier.claim(1)))

    assert frontier.claim() == []
    assert set(Url.objects.filter(state="x").values_list("status", "error")) == {
        (status, f"{status.sentence} ({had})")
        for status, had in (
            (FetchStatus.HOST_BUDGET, "b.test: 2 pages, 20 bytes"),
            (FetchStatus.HOST_BUDGET, "192.0.2.1: 2 pages, 20 bytes"),
            (FetchStatus.HOST_BUDGET, "one.c.test: 2 pages, 20 bytes"),
            (FetchStatus.DOMAIN_BUDGET, "c.test: 3 pages"),
        )
    }
    frontier.check()


@pytest.mark.parametrize(
    ("most_pages", "budget", "statements"),
    [
        (None, {}, 0),
        (50, {}, 2),
        (None, {"host_max_pages": 5, "domain_max_pages": 7}, 1),
        (50, {"host_max_pages": 5, "host_max_bytes": 99, "domain_max_pages": 7}, 2),
    ],
)
def test_limits_cost_a_claim_few_statements_under_the_lock(db, most_pages, budget, statements):
    frontier = limited(**budget)
    CrawlJob.objects.update(max_pages=most_pages)
    frontier.record(*frontier.in_hand())
    queues = dict.fromkeys(frontier.queues(), 1)

    with CaptureQueriesContext(connection) as asked:
        claimed = claim_urls(frontier.shift, queues)

    assert all(claimed.values())
    assert len(asked) == WITHOUT_LIMITS + statements
