"""Locks that others hold cost time: no outcome is lost, no page is blamed, and no two runs wait for
each other.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial

import pytest
from django.db import OperationalError, connection, connections

from crawling.frontier import run_lock
from crawling.frontier.change import manual_order
from crawling.frontier.record.outcome_writer import RecordingState, record_all
from crawling.frontier.released_hosts import delay_queues
from crawling.frontier.sql_rows import add_hosts
from crawling.frontier.types import Candidate
from crawling.models import Run, Url
from crawling.orders.scope.trap_patterns import suspicious_pattern
from crawling.runs.shift_lifecycle import is_server_loss
from crawling.runs.waiting_urls import retry_failed
from crawling.web.addresses import canonical_address
from tests.crawling.frontier.test_run_lock import waits
from tests.crawling.frontiers import Frontier, other_connection, outcome
from tests.stack import wait_until

TRAP = "http://a.new/x/x/x/x/x/x/x/"


def failing(*statements: str) -> OperationalError:
    """The error that Django raises when the last of these fails."""
    other = connections["default"].copy()
    try:
        with other.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    except OperationalError as error:
        return error
    finally:
        other.close()
    raise AssertionError


@pytest.mark.django_db(transaction=True)
def test_outcomes_are_written_once_the_runs_row_is_free_however_often_it_was_waited_for(
    monkeypatch,
):
    monkeypatch.setattr(run_lock, "PATIENCE", "50ms")
    frontier, tries = Frontier(), []
    frontier.sow("a.test/1")
    [url] = frontier.claim()

    def free_at_the_third(execute, sql, params, many, context):
        tries.extend([sql] if "FOR NO KEY UPDATE" in sql else [])
        if len(tries) == 3:
            held.close()
        return execute(sql, params, many, context)

    with ExitStack() as held, connection.execute_wrapper(free_at_the_third):
        held.enter_context(
            other_connection(
                ["SELECT 1 FROM crawling_run WHERE id = %s FOR NO KEY UPDATE", [frontier.run.pk]]
            )
        )
        record_all(frontier.shift, [outcome(url)], numbers=[0], memory=RecordingState(), lengths={})

    assert frontier.states() == {"s": 1}


@pytest.mark.django_db(transaction=True)
def test_a_lock_that_was_waited_for_too_long_is_nobodys_fault():
    lock = "SELECT pg_advisory_lock(77)"
    with other_connection([lock, []]):
        timed_out = failing("SET lock_timeout = 10", lock)

    assert timed_out.__cause__.sqlstate == "55P03"
    assert is_server_loss(timed_out)


@pytest.mark.django_db(transaction=True)
def test_resting_queues_wait_for_the_runs_lock():
    frontier = Frontier()
    frontier.sow("a.test/1")
    with other_connection(
        ["SELECT 1 FROM crawling_run WHERE id = %s FOR NO KEY UPDATE", [frontier.run.pk]]
    ):
        assert waits(lambda: delay_queues(frontier.run.pk, dict.fromkeys(frontier.queues(), 1.0)))


@pytest.mark.django_db(transaction=True)
def test_hosts_of_links_and_of_traps_are_made_in_one_order():
    """Another run has made the first of them and wants to make the second: a run that had it
    already would wait for it in turn.
    """
    frontier = Frontier()
    frontier.sow("a.test/1")
    [url] = frontier.claim()
    trap = suspicious_pattern(canonical_address(TRAP), year=2026)
    links = [
        Candidate(canonical_address("http://b.new/"), 1, url.id),
        Candidate(canonical_address(TRAP), 1, url.id, trap=trap),
    ]
    recording = threading.Thread(
        target=closing(partial(frontier.record, outcome(url, links=links)))
    )
    other = connections["default"].copy()
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '300ms'")
            add_hosts(cursor, ["a.new"])
            recording.start()
            wait_until(lambda: is_waiting() or not recording.is_alive())
            add_hosts(cursor, ["b.new"])
        other.commit()
        recording.join(20)
    finally:
        other.close()

    assert frontier.states() == {"s": 1, "q": 1, "t": 1}


def closing(work):
    """A thread's work, which leaves no connection behind."""

    def do():
        try:
            work()
        finally:
            connection.close()

    return do


def is_waiting():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND wait_event_type = 'Lock'"
        )
        return cursor.fetchone()[0]


@pytest.mark.django_db(transaction=True)
def test_many_failed_urls_go_back_by_slices(monkeypatch, pool):
    monkeypatch.setattr(manual_order, "SLICE", 2)
    frontier = Frontier()
    frontier.sow(*(f"a.test/{n}" for n in range(5)))
    frontier.record(*(outcome(url, "f", status=500) for url in frontier.claim()))
    Run.objects.update(state="paused")  # or it asks the bank for a shift
    crawl, slices = frontier.run.crawl, []

    def watch(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if "DELETE FROM crawling_page p USING back" in sql:
            slices.append(Url.objects.filter(state="q").count())
        return result

    with connection.execute_wrapper(watch):
        assert retry_failed(crawl) == 5

    assert slices == [2, 4, 5]
    frontier.check()
