"""A process that waits for a notification hears of it, of its end, and of a broken connection."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest
from django.db import connection

from crawling.machine.notices import StopEvent, await_notice
from tests.stack import test_database_url

LONG = 60.0


@pytest.fixture
def listening(transactional_db):
    with psycopg.connect(test_database_url(), autocommit=True) as listening:
        listening.execute("LISTEN somewhere")
        yield listening


def later(do):
    timer = threading.Timer(0.2, do)
    timer.start()
    return timer


def test_a_notification_ends_the_wait_and_is_told_once(listening):
    with connection.cursor() as cursor:
        cursor.execute("NOTIFY somewhere")

    assert await_notice(listening, StopEvent(), LONG)
    assert not await_notice(listening, StopEvent(), 0.05)


def test_the_end_of_the_process_ends_the_wait_and_each_later_one(listening):
    ending, began = StopEvent(), time.monotonic()
    later(ending.set)

    assert not await_notice(listening, ending, LONG)
    assert not await_notice(listening, ending, LONG)

    assert ending.is_set()
    assert time.monotonic() - began < LONG / 2


def test_a_connection_that_breaks_is_told(listening):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [listening.info.backend_pid])

    def wait_until_it_hangs_up():
        while True:  # a message that says so comes first
            assert not await_notice(listening, StopEvent(), LONG)

    with pytest.raises(psycopg.OperationalError):
        wait_until_it_hangs_up()
    assert listening.closed
