"""A lasting state is told once: a long wait at the bank, a bank that is not safe, units that are
missing.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from allocation.models import Pool, Request, RequestState
from allocation.services import set_capacity
from crawling.models import LogLine
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import pause
from crawling.uses.alerts.models import Delivery, Listener, Notice
from crawling.uses.alerts.notify import raise_ongoing_alerts

SEED = "http://127.0.0.1:8900/"


@pytest.fixture
def listener(db) -> Listener:
    return Listener.objects.create(
        name="Chat", url="https://chat.example/", secret="s", events=["waiting", "unsafe"]
    )


@pytest.fixture
def waiting(listener, order, pool):
    """A run that waits for the only worker, which another has."""
    set_capacity(pool=pool.pk, capacity={"worker": 1})
    start_run(create_crawl(order(SEED)))
    return start_run(create_crawl(order(SEED, name="late", wait_alert_minutes=5)))


def waited(minutes: int) -> None:
    Request.objects.filter(state=RequestState.WAITING).update(
        created_at=timezone.now() - timedelta(minutes=minutes, seconds=1)
    )


def told() -> list[dict]:
    return [json.loads(delivery.body) for delivery in Delivery.objects.order_by("pk")]


def test_a_long_wait_is_told_once_and_told_anew_after_it_has_ended(waiting):
    waited(4)
    raise_ongoing_alerts()
    assert told() == []

    waited(5)
    raise_ongoing_alerts()
    raise_ongoing_alerts()
    [one] = told()
    assert (one["event"], one["name"], one["run"]) == ("waiting", "late", 1)
    assert one["sentence"].startswith("It has waited for 5 minutes. ")
    assert LogLine.objects.filter(run=waiting, message=one["sentence"]).count() == 1

    waited(0)  # another request, which began just now
    raise_ongoing_alerts()
    waited(5)
    raise_ongoing_alerts()
    assert len(told()) == 2

    waiting.crawl.thresholds = {}
    waiting.crawl.save()
    for minutes, times in ((0, 2), (9, 2), (10, 3)):  # ten, unless the order says otherwise
        waited(minutes)
        raise_ongoing_alerts()
        assert len(told()) == times


def test_a_crawl_that_is_to_wait_in_silence_and_one_that_rests_are_not_told_of(waiting):
    waited(60)
    waiting.crawl.thresholds = {"wait_alert_minutes": None}
    waiting.crawl.save()
    raise_ongoing_alerts()
    waiting.crawl.thresholds = {}
    waiting.crawl.save()
    pause(waiting.crawl)
    raise_ongoing_alerts()

    assert told() == []


def test_a_bank_that_is_not_safe_or_has_lost_units_is_told_of_until_it_is_mended(listener, pool):
    Pool.objects.update(is_safe=False, available=[units - 1 for units in pool.capacity])
    raise_ongoing_alerts()
    raise_ongoing_alerts()

    assert sorted(one["sentence"].split(" ")[0] for one in told()) == ["Units", "Unsafe"]
    assert {(one["event"], one["pool"]) for one in told()} == {("unsafe", pool.pk)}

    Pool.objects.update(is_safe=True, available=pool.capacity)
    raise_ongoing_alerts()
    assert not Notice.objects.exists()
