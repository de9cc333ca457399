"""The log of a run tells what an operator would ask, and cannot be made to fill the disk."""

from __future__ import annotations

import pytest

from crawling.fetching.worker.jobs import run_shift
from crawling.frontier.record import outcome_log
from crawling.frontier.record.outcome_writer import RecordingState, record_batch
from crawling.models import Level, LogLine
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift, shift_was_lost
from crawling.runs.start import start_run
from tests.crawling.conftest import granted_starts
from tests.crawling.frontiers import Frontier, outcome


def lines(level=Level.INFO):
    return list(
        LogLine.objects.filter(level__gte=level).order_by("pk").values_list("message", flat=True)
    )


@pytest.fixture
def frontier(db):
    return Frontier()


def test_it_tells_of_shifts_and_robots_from_the_start_to_the_end(make_site, crawl_to_the_end):
    crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")

    start, began, robots, ended, finished = lines()
    assert start == "Run 1 started by the command line."
    assert began.startswith("Work session began on ")
    assert robots == "No robots.txt (404 Not Found): everything may be fetched."
    assert ended.endswith(": the queue is empty for now.")
    assert finished == "Finished. Every URL in scope is done."


def test_a_robots_txt_that_cannot_be_had_is_a_warning(make_site, order):
    site = make_site({"/": "x", "/robots.txt": (500, {}, "")})
    start_run(create_crawl(order(f"{site.url}/")))
    for process, epoch in granted_starts():
        run_shift(process, epoch)

    robots = LogLine.objects.filter(url=f"{site.url}/robots.txt").earliest("pk")
    assert (robots.level, robots.message) == (
        Level.WARNING,
        "robots.txt unavailable (500 Internal Server Error): nothing is fetched there until it "
        "answers.",
    )


def test_each_url_that_failed_is_a_warning_with_its_url_and_reason(make_site, crawl_to_the_end):
    site = make_site({"/": '<a href="/gone">x</a>'})

    crawl_to_the_end(f"{site.url}/")

    line = LogLine.objects.get(level=Level.WARNING)
    assert (line.message, line.url) == ("404 Not Found", f"{site.url}/gone")


def test_a_host_that_cannot_be_reached_is_told_of_once_a_shift(frontier):
    frontier.sow("a.test/1", "a.test/2", "b.test/1")
    first, second, other = frontier.claim()
    shifts_own = RecordingState()

    for url in (first, second, other):
        trouble = outcome(url, "f", status=-4, error="The server did not accept a connection.")
        record_batch(frontier.shift, [trouble], numbers=frontier.numbers, memory=shifts_own)

    assert lines() == [
        "a.test: The server did not accept a connection.",
        "b.test: The server did not accept a connection.",
    ]


def test_what_the_machine_says_of_a_failure_does_not_repeat_its_sentence(frontier):
    frontier.sow("a.test/1")
    (url,) = frontier.claim()

    frontier.record(
        outcome(url, "f", status=-1, error="The host's name does not exist. (a.test: nxdomain)")
    )

    assert lines(Level.WARNING) == ["a.test: The host's name does not exist. (a.test: nxdomain)"]


def test_a_try_that_will_be_repeated_tells_of_its_host_at_once(frontier):
    frontier.sow("a.test/1")
    (url,) = frontier.claim()

    frontier.record(
        outcome(url, "q", status=-2, error="No name server answered.", retry_seconds=60)
    )

    assert lines(Level.WARNING) == [
        "a.test: No name server answered for the host's name. (No name server answered.)"
    ]


def test_a_broken_site_cannot_fill_the_log(frontier, monkeypatch):
    monkeypatch.setattr(outcome_log, "MOST_LOG_LINES", 3)
    frontier.sow(*(f"a.test/{number}" for number in range(10)))
    urls = frontier.claim()

    for url in urls:
        frontier.record(outcome(url, "f", status=404, error="404 Not Found"))

    assert lines() == ["404 Not Found"] * 3 + [
        "3 URLs have failed within this minute; what else fails in it is counted, but not logged."
    ]
    frontier.check()


def test_a_batch_that_is_refused_leaves_no_line(frontier):
    frontier.sow("a.test/1")
    (url,) = frontier.claim()
    frontier.give_back()

    frontier.record(outcome(url, "f", status=404))

    assert lines() == []


def test_a_wait_at_the_bank_is_told_of_once_with_its_reason(order):
    start_run(
        create_crawl(order("http://127.0.0.1:8900/", name="holder", claim={"bandwidth": 60_000}))
    )
    waiter = start_run(
        create_crawl(order("http://127.0.0.1:8901/", name="waiter", claim={"bandwidth": 60_000}))
    )

    told = [line.message for line in waiter.log.order_by("pk")]
    assert len(told) == 2
    assert told[1].startswith("Waiting for resources: ")
    assert "holder" in told[1]


def test_a_lost_shift_is_an_error(order):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    process = run.processes.get()
    begin_shift(process, epoch=1, worker="work process 7")

    shift_was_lost(process.bank_process_id, 1, "lost: killed by signal 9", worker="work process 7")

    assert lines(Level.ERROR) == ["Work session ended on work process 7: lost: killed by signal 9."]


def test_text_that_postgresql_cannot_keep_is_cleaned(frontier):
    frontier.sow("a.test/1")
    (url,) = frontier.claim()

    frontier.record(outcome(url, "f", status=404, error="bad \0 text \ud800"))

    assert lines() == ["404 Not Found (bad  text ?)"]
