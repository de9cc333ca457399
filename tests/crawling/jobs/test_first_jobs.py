"""A job that was put first comes before the others of its queue, which give way to it."""

from __future__ import annotations

import django_rq
import pytest
from django.core.cache import cache

from crawling.datasets.jobs import SECOND_READING
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.turns import IdleTurn
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
