"""Fetch threads come and go with the fetch slots, and a fault of ours costs one URL (SEEDS B11)."""

import logging
import os
import resource
import threading
import time
from collections import deque
from dataclasses import replace

import pytest

from crawling.fetching.pipeline import stages
from crawling.fetching.pipeline.client import Client
from crawling.fetching.pipeline.visit import Visit
from crawling.fetching.shift import fetch_threads
from crawling.fetching.shift.fetch_threads import SHORT_BYTES, FetchThreadPool
from crawling.fetching.shift.workbench import Workbench
from crawling.frontier import ClaimedUrl, LeasedHost
from crawling.machine.vitals import VITALS
from crawling.models import UrlState
from crawling.web.fetch.progress import FetchStep
from crawling.web.politeness import SHORT_SECONDS
from crawling.web.robots import RobotsRules, read_robots
from crawling.web.statuses import FetchStatus
from dnscache.protocol.answers import DnsStatus
from dnscache.resolver import AnswerSource, Resolution
from tests.crawling.contexts import make_fetch_context

HERE = Resolution("127.0.0.1", DnsStatus.OK, ("127.0.0.1",), 60.0, 0.0, AnswerSource.LITERAL, 0.0)


@pytest.fixture
def context():
    return make_fetch_context()


@pytest.fixture
def bench():
    return Workbench()


@pytest.fixture
def pool(bench, context):
    pool = FetchThreadPool(bench, context)
    yield pool
    bench.close()
    assert pool.join(60)


def visit_of(site, *paths, delay=0.0):
    """A visit to a site whose robots.txt is known to allow everything."""
    urls = deque(
        ClaimedUrl(1, number, f"{site.url}{path}", 0, 1, 0.0) for number, path in enumerate(paths)
    )
    visit = Visit.of(LeasedHost(1, 1, "x", 0.0), delay_seconds=delay)
    visit.urls, visit.route.resolution = urls, HERE
    visit.robots.by_origin[site.url] = RobotsRules(None, "crawlsite")
    return visit


def working(pool):
    """The numbers of the fetch threads that are at work."""
    return sorted(number for number, thread in pool._threads.items() if thread.is_alive())


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.01)


def start_without_memory_and_again(pool):
    most = resource.getrlimit(resource.RLIMIT_DATA)
    stack = threading.stack_size(2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (2**30, most[1]))
    pool.set_size(2)
    threading.stack_size(stack)
    resource.setrlimit(resource.RLIMIT_DATA, most)

    assert pool.join(1)
    assert pool.at_work() == 0
    pool.set_size(2)
    assert working(pool) == [0, 1]


def test_a_fetch_thread_that_gets_no_memory_is_started_later(pool):
    """In a process of its own: Python 3.11 keeps the state of a thread that could not be started,
    under the id of the one that would have, and an exception sent to that one goes to the state.
    """
    child = os.fork()
    if not child:
        try:
            start_without_memory_and_again(pool)
            os._exit(0)
        finally:
            os._exit(1)  # an assertion has failed

    assert os.waitpid(child, 0)[1] == 0


def test_as_many_pages_are_fetched_at_once_as_there_are_fetch_threads(pool, bench, make_site):
    together = threading.Barrier(3)
    # goes on when three are there
    page = lambda request: (together.wait(10), (200, {}, "x"))[1]  # noqa: E731
    sites = [make_site({"/": page}) for _ in range(3)]

    pool.set_size(3)
    for site in sites:
        bench.put(visit_of(site, "/"))

    assert [pool.outcomes.get(timeout=60).state for _ in sites] == [UrlState.SUCCEEDED] * 3


@pytest.mark.parametrize(("length", "threads"), [(1, 1), (1, 2), (SHORT_BYTES + 1, 2)])
def test_a_host_is_asked_for_its_next_url_while_a_page_is_still_read(
    pool, bench, make_site, monkeypatch, length, threads
):
    """A short page is read by the thread that waits for the next answer."""
    asked, found = threading.Event(), []
    site = make_site({"/0": "x" * length, "/1": lambda request: (asked.set(), (200, {}, "x"))[1]})
    before_reading(monkeypatch, lambda catch: catch.claimed.id or found.append(asked.wait(10)))

    pool.set_size(threads)
    bench.put(visit_of(site, "/0", "/1"))

    assert {pool.outcomes.get(timeout=60).state for _ in range(2)} == {UrlState.SUCCEEDED}
    assert found == [True]


def before_reading(monkeypatch, look):
    """Call a function with each answer before it is read."""
    read = fetch_threads.read
    monkeypatch.setattr(
        fetch_threads, "read", lambda catch, *others: (look(catch), read(catch, *others))[1]
    )


def test_a_page_is_read_at_once_where_its_host_rests_and_no_other_is_due(
    pool, bench, make_site, monkeypatch
):
    step = fetch_threads.step

    def step_and_rest(visit, context):
        made = step(visit, context)
        visit.clock.host_free_at = time.monotonic() + 10
        return made

    monkeypatch.setattr(fetch_threads, "step", step_and_rest)

    pool.set_size(1)
    bench.put(visit_of(make_site({"/0": "x"}), "/0", "/1"))

    assert pool.outcomes.get(timeout=5).state == UrlState.SUCCEEDED


def test_a_page_is_read_though_the_next_url_is_not_requested(pool, bench, make_site):
    site = make_site({"/0": "x"})
    visit = visit_of(site, "/0", "/1")
    visit.robots.by_origin[site.url] = read_robots(200, b"User-agent: *\nDisallow: /1", "crawlsite")

    pool.set_size(1)
    bench.put(visit)

    assert {pool.outcomes.get(timeout=60).state for _ in range(2)} == {
        UrlState.SUCCEEDED,
        UrlState.EXCLUDED,
    }
    wait_for(bench.is_idle)


class SlowReading:
    """Reads no document before a thread waits for it, and leaves it to that thread then."""

    def begin(self, source, *, is_listed):
        return self

    facts = None

    def is_read(self):
        return False

    def document(self):
        return None

    def close(self):
        pass


def test_a_host_ends_though_its_page_is_still_read_when_its_next_url_is_not_requested(
    bench, context, make_site
):
    site = make_site({"/0": "x", "/2": "z"})
    visit = visit_of(site, "/0", "/1", "/2", "/1")
    visit.robots.by_origin[site.url] = read_robots(200, b"User-agent: *\nDisallow: /1", "crawlsite")
    pool = FetchThreadPool(bench, replace(context, reading=SlowReading()))

    pool.set_size(1)
    bench.put(visit)

    states = [pool.outcomes.get(timeout=60).state for _ in range(4)]
    assert sorted(states) == sorted([UrlState.SUCCEEDED, UrlState.EXCLUDED] * 2)
    wait_for(bench.is_idle, seconds=10)
    assert (visit.unread, bench.drained()) == (0, [visit])
    bench.close()
    assert pool.join(60)


def test_a_fetch_thread_that_retires_reads_what_it_has_fetched(pool, bench, make_site):
    site = make_site({"/0": lambda request: (pool.set_size(0), (200, {}, "x"))[1], "/1": "y"})

    pool.set_size(1)
    bench.put(visit_of(site, "/0", "/1"))

    assert pool.outcomes.get(timeout=60).state == UrlState.SUCCEEDED
    wait_for(lambda: not working(pool))
    assert site.paths == ["/0"]


def test_a_page_that_is_read_and_the_one_that_is_asked_for_meanwhile_are_both_in_hand(
    pool, bench, make_site, monkeypatch
):
    """The page that is read is the one to blame where the process stands still."""
    found = []
    before_reading(
        monkeypatch,
        lambda catch: found.append(
            (
                sorted(claimed.id for claimed in pool.asked_for()),
                [hand.url_id for hand in VITALS.urls_in_hand()],
            )
        ),
    )
    visit = visit_of(make_site({f"/{n}": "x" for n in range(4)}), "/0", "/1", "/2", "/3")
    visit.urls.popleft()  # no URL in a database has 0 for its id

    pool.set_size(1)
    bench.put(visit)
    for _ in range(3):
        pool.outcomes.get(timeout=60)
    wait_for(bench.is_idle)

    assert found == [([1, 2], [1]), ([2, 3], [2]), ([3], [3])]
    assert pool.in_hand() == []


def test_while_a_page_is_read_the_dashboard_shows_its_url_and_then_the_one_that_is_asked_for(
    pool, bench, make_site, monkeypatch
):
    shown = []

    def look():
        line = pool.board.lines()[0]
        shown.append((line.step, line.url))

    site = make_site({"/0": "x", "/1": lambda request: (read.wait(10), look(), (200, {}, "x"))[2]})
    read, has_read = threading.Event(), bench.has_read
    before_reading(monkeypatch, lambda catch: look())
    monkeypatch.setattr(bench, "has_read", lambda visit: (has_read(visit), read.set()))

    pool.set_size(1)
    bench.put(visit_of(site, "/0", "/1"))
    for _ in range(2):
        pool.outcomes.get(timeout=60)

    assert shown == [
        (FetchStep.EXTRACTING, f"{site.url}/0"),
        (FetchStep.FETCHING, f"{site.url}/1"),
        (FetchStep.EXTRACTING, f"{site.url}/1"),
    ]


def test_a_host_is_not_penalised_for_the_page_of_another_that_is_read_while_it_answers(
    pool, bench, make_site, monkeypatch
):
    before_reading(monkeypatch, lambda catch: catch.claimed.id or time.sleep(SHORT_SECONDS + 0.1))
    slow = visit_of(make_site({"/0": "x"}), "/0")
    other = visit_of(make_site({"/0": "x", "/1": "x"}), "/0", "/1")
    other.urls.popleft()

    bench.put(slow)
    bench.put(other)
    pool.set_size(1)
    for _ in range(2):
        pool.outcomes.get(timeout=60)
    wait_for(bench.is_idle)

    assert slow.penalty_until > time.monotonic() >= other.penalty_until


def test_a_document_that_cannot_be_read_costs_its_url_and_the_work_goes_on(
    pool, bench, make_site, monkeypatch, caplog
):
    site, conclude = make_site({"/0": "x", "/1": "x"}), stages.conclude
    monkeypatch.setattr(
        stages,
        "conclude",
        lambda claimed, *others, **more: 1 / claimed.id and conclude(claimed, *others, **more),
    )

    pool.set_size(1)
    with caplog.at_level(logging.CRITICAL, logger="crawling.fetching.shift.fetch_threads"):
        bench.put(visit_of(site, "/0", "/1"))
        outcomes = [pool.outcomes.get(timeout=60) for _ in range(2)]
    wait_for(bench.drained)

    assert [(outcome.state, outcome.error) for outcome in outcomes] == [
        (UrlState.FAILED, "ZeroDivisionError: division by zero"),
        (UrlState.SUCCEEDED, ""),
    ]


def test_surplus_fetch_threads_retire_after_their_url(pool, bench, make_site):
    started, release = threading.Semaphore(0), threading.Event()
    page = lambda request: (started.release(), release.wait(10), (200, {}, "x"))[2]  # noqa: E731
    pool.set_size(3)
    for _ in range(3):
        bench.put(visit_of(make_site({"/": page}), "/"))
    for _ in range(3):
        started.acquire(timeout=60)

    pool.set_size(1)
    assert working(pool) == [0, 1, 2]
    release.set()

    assert [pool.outcomes.get(timeout=60).state for _ in range(3)] == [UrlState.SUCCEEDED] * 3
    wait_for(lambda: working(pool) == [0])


def test_a_fetch_threads_that_retired_in_the_middle_is_replaced_under_its_own_number(
    pool, bench, make_site
):
    begun = threading.Semaphore(0)
    releases = [threading.Event() for _ in range(3)]
    for number, release in enumerate(releases):
        page = lambda request, release=release: (begun.release(), release.wait(10), (200, {}, "x"))[  # noqa: E731
            2
        ]
        bench.put(visit_of(make_site({"/": page}), "/"))
        pool.set_size(number + 1)
        assert begun.acquire(timeout=60)

    pool.set_size(1)
    releases[1].set()
    wait_for(lambda: working(pool) == [0, 2])
    pool.set_size(3)

    assert working(pool) == [0, 1, 2]
    for release in releases:
        release.set()


def test_a_fault_of_ours_costs_one_url_and_the_work_goes_on(
    pool, bench, make_site, monkeypatch, caplog
):
    site = make_site({f"/{number}": "x" for number in range(3)})
    get = Client.get

    def stumble(self, address, dial, max_bytes=None, **options):
        if address.target == "/1":
            raise ZeroDivisionError("so\0 sorry")
        return get(self, address, dial, max_bytes, **options)

    monkeypatch.setattr(Client, "get", stumble)
    pool.set_size(1)
    with caplog.at_level(logging.CRITICAL, logger="crawling.fetching.shift.fetch_threads"):
        bench.put(visit_of(site, "/0", "/1", "/2"))
        outcomes = [pool.outcomes.get(timeout=60) for _ in range(3)]

    assert [(outcome.url_id, outcome.state) for outcome in outcomes] == [
        (0, UrlState.SUCCEEDED),
        (1, UrlState.FAILED),
        (2, UrlState.SUCCEEDED),
    ]
    assert (outcomes[1].status, outcomes[1].error) == (
        FetchStatus.OUR_FAULT,
        "ZeroDivisionError: so sorry",
    )


def test_a_fault_before_the_url_was_taken_costs_it_too_and_keeps_the_delay(
    pool, bench, make_site, monkeypatch
):
    def stumble(*args):
        raise ZeroDivisionError("in the first stage")

    site = make_site({"/0": "x"})
    monkeypatch.setattr("crawling.fetching.pipeline.stages.route_to", stumble)
    visit = visit_of(site, "/0", "/1", delay=0.2)
    begun = time.monotonic()
    pool.set_size(1)
    bench.put(visit)

    assert [pool.outcomes.get(timeout=60).url_id for _ in range(2)] == [0, 1]
    assert time.monotonic() - begun >= 0.2
    wait_for(lambda: bench.drained() == [visit])


def test_whoever_sees_a_host_drained_finds_all_its_outcomes(pool, bench, make_site):
    site = make_site({"/": "x"})
    pool.set_size(2)

    for _ in range(20):
        bench.put(visit_of(site, "/?1", "/?2"))
        wait_for(bench.drained)
        assert pool.outcomes.qsize() == 2
        pool.outcomes.get(), pool.outcomes.get()


def test_a_host_is_free_again_one_delay_after_the_end_of_a_fetch(
    transactional_db, pool, bench, make_site
):
    ends = []

    def page(request):
        time.sleep(0.1)
        ends.append(time.monotonic())
        return 200, {}, "x"

    paths = ["/?1", "/?2", "/?3"]
    site = make_site(dict.fromkeys(paths, page))
    pool.set_size(2)

    bench.put(visit_of(site, *paths, delay=0.1))
    for _ in paths:
        pool.outcomes.get(timeout=60)

    rests = [later.at - end for later, end in zip(site.log[1:], ends, strict=False)]
    assert len(rests) == 2
    assert min(rests) >= 0.1


def test_a_host_that_kept_its_fetch_threads_for_long_lets_the_others_go_first(
    pool, bench, make_site
):
    order = []
    slow = make_site(
        {
            "/": lambda request: (
                order.append("slow"),
                time.sleep(SHORT_SECONDS + 0.1),
                (200, {}, "x"),
            )[2]
        }
    )
    other = make_site({"/": lambda request: (order.append("other"), (200, {}, "x"))[1]})
    bench.put(visit_of(slow, "/?1", "/?2"))
    bench.put(visit_of(other, "/?1", "/?2", "/?3"))

    pool.set_size(1)
    for _ in range(5):
        pool.outcomes.get(timeout=60)

    assert order == ["slow", "other", "other", "other", "slow"]


def test_a_host_whose_document_took_long_to_read_lets_the_others_go_first(
    pool, bench, make_site, monkeypatch
):
    order, read = [], fetch_threads.read
    slow, other = (
        make_site({"/": lambda request, name=name: (order.append(name), (200, {}, "x"))[1]})
        for name in ("slow", "other")
    )
    monkeypatch.setattr(
        "crawling.fetching.pipeline.visit.penalty_seconds",
        lambda held, threads: 60.0 if held > 0.5 else 0.0,
    )
    monkeypatch.setattr(
        fetch_threads,
        "read",
        lambda catch, *others: (
            (catch.claimed.url.startswith(slow.url) and time.sleep(0.6)) or read(catch, *others)
        ),
    )
    bench.put(visit_of(slow, "/?1", "/?2"))
    bench.put(visit_of(other, "/?1", "/?2", "/?3"))

    pool.set_size(1)
    for _ in range(5):
        pool.outcomes.get(timeout=60)

    assert order == ["slow", "other", "other", "other", "slow"]


def test_memory_that_ran_out_costs_one_url_a_try_and_the_work_goes_on(
    pool, bench, make_site, monkeypatch
):
    site = make_site({f"/{number}": "x" for number in range(2)})
    get = Client.get

    def spend(self, address, dial, max_bytes=None, **options):
        if address.target == "/0":
            raise MemoryError
        return get(self, address, dial, max_bytes, **options)

    monkeypatch.setattr(Client, "get", spend)
    pool.set_size(1)
    bench.put(visit_of(site, "/0", "/1"))
    first, second = (pool.outcomes.get(timeout=60) for _ in range(2))

    assert (first.state, first.status, first.retry_seconds is None) == (
        UrlState.QUEUED,
        FetchStatus.MEMORY_SPENT,
        False,
    )
    assert second.state == UrlState.SUCCEEDED


def test_an_answer_for_which_the_archive_has_no_memory_is_asked_for_again(
    bench, context, make_site, monkeypatch
):
    site = make_site({f"/{number}": "x" for number in range(2)})
    pool = FetchThreadPool(bench, replace(context, archives=True))

    def spend(captured, answer):
        monkeypatch.undo()
        raise MemoryError

    monkeypatch.setattr(context.port, "archive", spend)
    pool.set_size(1)
    bench.put(visit_of(site, "/0", "/1"))
    first, second = (pool.outcomes.get(timeout=60) for _ in range(2))

    assert (first.url_id, first.state, first.status) == (
        0,
        UrlState.QUEUED,
        FetchStatus.MEMORY_SPENT,
    )
    assert second.state == UrlState.SUCCEEDED
    bench.close()
    assert pool.join(60)
