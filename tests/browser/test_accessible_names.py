"""The pages about names, as the others in `test_accessible.py`: with names of every kind, and
before there is any.
"""

from __future__ import annotations

import time

import pytest
from django.utils import timezone

from dnscache import store
from dnscache.models import DnsDropped, DnsMinute, DnsPin, DnsPreResolver
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from tests.browser.test_accessible import ONE_SCREEN, SCREENS, faults
from tests.crawling.frontiers import Frontier
from tests.dnscache.live_cache import live_cache

PAGES = [
    "",
    "?q=none",
    "?domain=example.com",
    "?status=evicted",
    "why/",
    "why/?host=sf.example.com",
]


def fill() -> None:
    now = time.time()
    Frontier().sow("sf.example.com/1")
    good = Reply(
        DnsStatus.OK,
        ("192.0.2.1", "2001:db8:0:1::1234:5678"),
        ttl=300,
        resolve_ms=40,
        upstream="192.0.2.53:53",
    )
    names = {
        "example.com": good,
        "a.b.www.example.com": good,
        f"{'long-name-' * 5}.and-on.example.com": good,
    }
    names |= {
        f"{status}.example.com": Reply(status, resolve_ms=8000, error="it said nothing")
        for status in DnsStatus
        if status.is_failure
    }
    names |= {"sf.example.com": Reply(DnsStatus.SERVFAIL, error="the name server said SERVFAIL")}
    store.write_answers([_answer(name, reply, now) for name, reply in names.items()])
    counts = {
        "memory": 10,
        "database": 200,
        "lookup": 9,
        "stale": 1,
        "asked": 9,
        "failed": 2,
        "cut": 1,
    }
    DnsMinute.objects.create(
        minute=timezone.now(), waited_seconds=3, waits=[200, 5, 5, 4, 3, 2, 1, 1], **counts
    )
    DnsDropped.objects.create(
        name="old.example.com", region=2, weight=0.01, why="light, and unused for long"
    )
    DnsPin.objects.create(name="sf.example.com")
    lanes = dict.fromkeys(
        ("slots", "main_threads", "main_depth", "slow_threads", "slow_depth", "names"), 12
    )
    DnsPreResolver.objects.create(
        machine="crawler-1", beat_at=timezone.now(), threads_saved=1.5, counts={}, **lanes
    )


def _answer(name: str, reply: Reply, now: float) -> DnsAnswer:
    fails = int(reply.status.is_failure)
    return DnsAnswer(name, reply, now, now + reply.ttl, now + 40 if fails else None, fails)


@pytest.mark.parametrize("screen", ONE_SCREEN)
def test_pages_about_names(browse, pool, screen):
    page = browse("administrator", **SCREENS[screen])
    found = [
        fault for address in ("", "?status=evicted") for fault in faults(page, f"/dns/{address}")
    ]
    fill()

    with live_cache():
        found += [fault for address in PAGES for fault in faults(page, f"/dns/{address}")]
    assert not found, "\n".join(found)
