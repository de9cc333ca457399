"""A batch that is tried again counts once in what the shift remembers, too: in the memory of its
patterns and of its log.
"""

from __future__ import annotations

from contextlib import contextmanager
from random import Random
from string import ascii_lowercase

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from crawling.frontier import RecordingState, ServerAnswer, locked_run, record_all
from crawling.frontier.record import outcome_writer
from crawling.models import LogLine, TrapPattern
from crawling.orders.scope.trap_patterns import Pattern
from crawling.web.content.text_facts import TextFacts
from tests.crawling.fetching.shift.test_many_links import end_backend
from tests.crawling.frontiers import Frontier, outcome

#: two batches of these pages make a row
PAGES = 4
PATTERN = Pattern(77, "http://a.test/#")


class BrokenOnce:
    """Ends the session within the transaction, before a statement on this table."""

    def __init__(self, table):
        self.table, self.is_done = table, False

    def __call__(self, execute, sql, params, many, context):
        if f"INSERT INTO {self.table}" in sql.replace('"', "") and not self.is_done:
            self.is_done = True
            end_backend()
        return execute(sql, params, many, context)


def words(seed):
    chance = Random(seed)
    return " ".join("".join(chance.choices(ascii_lowercase, k=8)) for _ in range(12))


def page(url):
    return outcome(
        url,
        answer=ServerAnswer(
            *(200, url.url, "text/html", 10, -5, "192.0.2.1", 0.1, timezone.now()),
            pattern=PATTERN,
            # texts that are not alike
            text=TextFacts(words(url.url), has_key=True),
        ),
    )


def pages(urls):
    return [page(url) for url in urls]


def write(frontier, memory, outcomes):
    return record_all(frontier.shift, outcomes, numbers=[0], memory=memory, lengths={})


def pages_in_row():
    return list(TrapPattern.objects.filter(key=PATTERN.key).values_list("fetched", "fresh"))


@pytest.fixture
def frontier(transactional_db):
    frontier = Frontier()
    frontier.sow(*(f"a.test/{number}" for number in range(3 * PAGES)))
    return frontier


def in_batches(frontier):
    urls = frontier.claim()
    return [urls[begin : begin + PAGES] for begin in range(0, len(urls), PAGES)]


def test_a_batch_that_is_rolled_back_counts_its_pages_once(frontier):
    memory, (first, second, third) = RecordingState(), in_batches(frontier)

    with connection.execute_wrapper(BrokenOnce("crawling_runcount")):
        write(frontier, memory, pages(first))
    assert pages_in_row() == []  # too few for a row, unless they were counted twice
    with connection.execute_wrapper(BrokenOnce("crawling_runcount")):
        write(frontier, memory, pages(second))

    assert pages_in_row() == [(2 * PAGES, 2 * PAGES)]
    write(frontier, memory, pages(third))
    assert pages_in_row() == [(3 * PAGES, 3 * PAGES)]


def test_a_batch_whose_connection_breaks_after_its_commit_counts_its_pages_once(
    frontier, monkeypatch
):
    memory, (first, second, third) = RecordingState(), in_batches(frontier)
    write(frontier, memory, pages(first))
    broken = []

    @contextmanager
    def breaks_after_the_commit(run_id):
        with locked_run(run_id) as run:
            yield run
        if not broken:
            broken.append(run)
            raise OperationalError("the connection is closed")

    monkeypatch.setattr(outcome_writer, "locked_run", breaks_after_the_commit)

    kept = write(frontier, memory, pages(second))
    write(frontier, memory, pages(third))

    assert (set(kept), len(broken)) == ({url.id for url in second}, 1)
    assert pages_in_row() == [(3 * PAGES, 3 * PAGES)]


def test_a_host_in_a_batch_that_is_rolled_back_is_told_of_once(frontier):
    memory, (urls, later, _) = RecordingState(), in_batches(frontier)

    with connection.execute_wrapper(BrokenOnce("crawling_logline")):
        write(frontier, memory, [outcome(url, "f", status=-4) for url in urls])
    write(frontier, memory, [outcome(url, "f", status=-4) for url in later])

    assert LogLine.objects.filter(message__startswith="a.test: ").count() == 1
