"""Fetch threads ask the database and name servers by one thread each, which is counted, and never
hear of a connection that is gone.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Event

import pytest
from django.db import OperationalError

from crawling.fetching.pipeline.visit import Visit
from crawling.fetching.shift.name_thread import NameThread
from crawling.fetching.shift.port import QueryThread
from tests.crawling.fetching.shift.test_name_thread import visit
from tests.stack import wait_until


@pytest.fixture
def clerk(transactional_db):
    clerk = QueryThread()
    yield clerk
    clerk.close()


def refuse():
    raise OperationalError("the server is gone")


def test_a_question_that_finds_no_database_has_no_answer_and_the_next_one_has(clerk):
    assert clerk.ask(refuse) is None
    assert clerk.ask(lambda: 7) == 7


def test_who_asks_when_the_shift_is_over_has_no_answer(transactional_db):
    clerk = QueryThread()
    clerk.close()

    assert clerk.ask(lambda: 7) is None


def test_a_look_up_for_a_fetch_thread_takes_one_of_the_slots_that_hosts_would_have(
    clerk, dns_server
):
    dns_server.hosts["a.test"] = ["192.0.2.1"]
    delivered: Queue[Visit] = Queue()
    names, over = NameThread(delivered.put, lambda: 1 - clerk.at_work), Event()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(clerk.ask, lambda: over.wait(20))
        wait_until(lambda: clerk.at_work == 1)
        names.ask(visit("a.test"))
        wait_until(lambda: names.waiting == 1 and len(names._requests) == 1)
        assert delivered.empty()
        over.set()
        assert delivered.get(timeout=60).route.resolution.addresses == ("192.0.2.1",)
    names.close()
    names._thread.join(60)
