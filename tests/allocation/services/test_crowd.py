"""Many wait at the bank: what a decision reads and writes does not grow with them."""

from __future__ import annotations

from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.db.models.signals import post_init

from allocation.models import Pool, Process, Request
from allocation.services import release_resources
from tests.allocation.conftest import ask, held

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@contextmanager
def requests_read():
    """Counts the rows of requests that are read."""
    seen = []

    def note(instance, **kwargs):
        seen.append(instance)

    post_init.connect(note, sender=Request)
    yield seen
    post_init.disconnect(note, sender=Request)


def crowd(pool, make_process, count):
    """One works, and so many wait for the same."""
    worker = make_process(pool, "worker", (1, 4), (1, 1))
    waiters = [make_process(pool, f"waiter {n}", (1, 4)) for n in range(count)]
    for waiter in waiters:
        assert not ask(waiter, (1, 1)).granted
    return worker, waiters


def test_release_reads_few_of_those_who_wait(make_pool, make_process):
    worker, waiters = crowd(make_pool(1, 8), make_process, 40)

    with requests_read() as seen:
        release_resources(process=worker.pk, epoch=1, release_id=uuid4(), amounts=None)

    assert held(waiters[0]) == (1, 1)
    assert len(seen) < 20


def test_holder_is_served_behind_a_crowd_that_lacks_a_worker(make_pool, make_process):
    pool = make_pool(2, 6)
    other = make_process(pool, "other", (1, 4), (1, 4))
    worker, _ = crowd(pool, make_process, 20)
    assert not ask(worker, (0, 3)).granted

    with requests_read() as seen:
        release_resources(process=other.pk, epoch=1, release_id=uuid4(), amounts={"b": 2})

    assert held(worker) == (1, 4)
    assert len(seen) < 10


def test_passes_are_counted_to_one_beyond_the_limit(make_pool, make_process):
    pool = make_pool(1, 8)
    Pool.objects.update(bypass_limit=2)
    worker, waiters = crowd(pool, make_process, 1)
    for _ in range(5):
        assert ask(worker, (0, 1)).granted
        release_resources(process=worker.pk, epoch=1, release_id=uuid4(), amounts={"b": 1})

    assert Request.objects.get(process=waiters[0]).bypassed == 3


def test_those_refused_for_one_reason_do_not_hide_one_who_could_be_served(make_pool, make_process):
    """The claims of the first nine are not safe now; the tenth asks for the same."""
    pool = make_pool(2, 4)
    worker = make_process(pool, "worker", (1, 4), (1, 1))
    large = [make_process(pool, f"large {n}", (1, 4)) for n in range(9)]
    small = make_process(pool, "small", (1, 1))
    blocker = make_process(pool, "blocker", (1, 1), (1, 1))
    for process in (*large, small):
        assert not ask(process, (1, 1)).granted

    release_resources(process=blocker.pk, epoch=1, release_id=uuid4(), amounts=None)

    assert held(small) == (1, 1)
    assert held(worker) == (1, 1)
    assert not Process.objects.filter(pk__in=[one.pk for one in large], holding=True).exists()
