"""A job that was put first comes before the others of its queue, which give way to it."""

from __future__ import annotations

import django_rq
import pytest
from django.core.cache import cache

from crawling.datasets.jobs import SECOND_READING
from crawling.jobs import rq_jobs
from crawling.jobs.rq_jobs import (
    IDLE,
    is_time_of_first_jobs_over,
    is_user_waiting,
    note_first_jobs_go_ahead,
)
from crawling.jobs.turns import IdleTurn
from crawling.uses.link_check.jobs import BROKEN_LINKS
from crawling.uses.watches.jobs import WATCHES
from tests.stack import background_queue


@pytest.fixture
def queue():
    cache.clear()
    with background_queue():
        idle = django_rq.get_queue(IDLE)
        idle.empty()
        yield idle


def test_it_comes_before_those_that_wait_and_is_queued_once(db, queue):
    for number in (-1, -2, -3):
        SECOND_READING.job.enqueue(number)

    for number in (-3, -3, -4):
        SECOND_READING.job.put_first(number)

    assert queue.job_ids == ["job--4", "job--3", "job--1", "job--2"]


def test_a_turn_ends_at_once_for_a_job_that_was_put_first(pool, queue):
    plain, first = IdleTurn(), IdleTurn(lambda: True)
    SECOND_READING.job.enqueue(-1)
    plain.look()
    assert plain.goes_on()

    SECOND_READING.job.put_first(-1)
    for turn in (plain, first):
        turn.look()

    assert (plain.goes_on(), first.goes_on()) == (False, True)


def test_a_job_that_was_put_first_does_not_give_way_to_others(pool, queue, monkeypatch):
    monkeypatch.setattr("crawling.jobs.turns.TURN_SECONDS", 0.0)
    SECOND_READING.job.enqueue(-1)
    plain, first = IdleTurn(), IdleTurn(lambda: True)

    for turn in (plain, first):
        turn.look()

    assert (plain.goes_on(), first.goes_on()) == (False, True)


@pytest.fixture
def others_have_waited(monkeypatch):
    """Since long ago, jobs that were put first go ahead of the others."""
    note_first_jobs_go_ahead()
    monkeypatch.setattr(rq_jobs, "MOST_AHEAD_SECONDS", 0.0)


def test_others_get_their_turn_after_those_that_were_put_first(pool, queue, others_have_waited):
    first = IdleTurn(lambda: True)
    first.look()
    assert first.goes_on()  # none waits

    SECOND_READING.job.enqueue(-1)
    first.look()
    assert not first.goes_on()

    SECOND_READING.job.put_first(-2)
    SECOND_READING.job.put_first(-2)
    assert queue.job_ids == ["job--1", "job--2"]


def test_in_their_turn_they_do_not_give_way_until_it_is_over(
    pool, queue, others_have_waited, monkeypatch
):
    other = IdleTurn()
    SECOND_READING.job.put_first(-1)
    other.look()
    assert other.goes_on()

    monkeypatch.setattr(other, "_yields_at", 0.0)
    other.look()

    assert not other.goes_on()
    assert not is_time_of_first_jobs_over()
    SECOND_READING.job.enqueue(-2)
    SECOND_READING.job.put_first(-3)
    assert queue.job_ids == ["job--3", "job--1", "job--2"]


def test_several_that_were_put_first_are_no_others(pool, queue, others_have_waited):
    SECOND_READING.job.put_first(-1)
    SECOND_READING.job.put_first(-2)
    first = IdleTurn(lambda: True)

    first.look()

    assert first.goes_on()
    assert queue.job_ids == ["job--2", "job--1"]


@pytest.mark.parametrize("soon", [BROKEN_LINKS, WATCHES])
def test_what_news_wait_for_is_done_soon_and_never_before_what_a_user_waits_for(pool, queue, soon):
    reading = IdleTurn()
    SECOND_READING.job.enqueue(-1)

    soon.job.ask(-2)

    reading.look()
    assert queue.job_ids == ["job--2", "job--1"]
    assert not reading.goes_on()
    assert not is_user_waiting()
