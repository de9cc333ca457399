"""Crawls are created and started by JSON at the same price however many wait."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models.signals import post_init
from django.test.utils import CaptureQueriesContext

from allocation.models import Process, Request

pytestmark = pytest.mark.django_db


@pytest.fixture
def read():
    """The rows of the bank's processes and requests that were read, as they are read."""
    seen = []

    def note(instance, **kwargs):
        seen.append(instance)

    for model in (Process, Request):
        post_init.connect(note, sender=model)
    yield seen
    for model in (Process, Request):
        post_init.disconnect(note, sender=model)


def test_a_start_reads_few_of_those_who_wait(operator, pool, read):
    keys = list(pool.classes.values_list("key", flat=True))
    pool.capacity[keys.index("worker")] = 1
    pool.available = pool.capacity
    pool.save()
    for number in range(1, 41):
        start(operator, number)
    assert Request.objects.filter(state="waiting").count() == 39
    read.clear()

    with CaptureQueriesContext(connection) as asked:
        crawl = start(operator, 41)

    assert crawl["state"] == "waiting"
    assert "worker" in crawl["reason"]
    assert len(asked) < 100
    assert len(read) < 80  # of those ahead, the 20 whose waits are estimated, twice


def start(operator, number):
    """Create a crawl and start it; returns what the start answers."""
    order = {"name": f"crawl {number}", "seeds": [f"http://127.0.0.{number}:8900/"]}
    status, crawl = operator("POST", "crawls", order)
    assert status == 201, crawl
    status, started = operator("POST", f"crawls/{crawl['id']}/start", {})
    assert status == 200, started
    return started
