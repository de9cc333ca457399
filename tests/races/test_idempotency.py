"""A program that sends the same request twice at once, as one does that lost patience, makes one
crawl.
"""

from __future__ import annotations

from threading import Barrier

import pytest
from django.db import connection

from crawling.models import CrawlJob
from tests.api.conftest import SEED, operator, people, programs
from tests.crawling.conftest import loopback, pool

__all__ = ["loopback", "operator", "people", "pool", "programs"]

ORDER = {"name": "a crawl", "seeds": [SEED]}
RIVALS = 4


@pytest.fixture
def post_at_once(operator, meanwhile):
    """Return a function that sends one order so many times at once, under one key, and returns
    (status, answer) of each.
    """
    barrier = Barrier(RIVALS)

    def post() -> tuple[int, dict]:
        connection.ensure_connection()
        barrier.wait(10)
        return operator("POST", "crawls", ORDER, **{"Idempotency-Key": "once"})

    return lambda: [future.result(30) for future in [meanwhile(post) for _ in range(RIVALS)]]


def test_the_same_request_sent_at_once_makes_one_crawl_and_every_answer_names_it(post_at_once):
    answers = post_at_once()

    crawl = CrawlJob.objects.get()
    assert {answer["id"] for _, answer in answers} == {crawl.pk}
    assert sorted(status for status, _ in answers) == [200] * (RIVALS - 1) + [201]
