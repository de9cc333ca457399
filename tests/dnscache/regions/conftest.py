"""Answers to put into the regions; the clock is a number."""

from __future__ import annotations

import pytest

from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from dnscache.regions.entry import CachedAnswer
from dnscache.regions.space import CacheSpace

NOW = 1_800_000_000.0


def good(name, *, ms=20, ttl=300, at=NOW, address="192.0.2.1"):
    return DnsAnswer(
        name, Reply(DnsStatus.OK, (address,), name, 0, ttl, ms, "192.0.2.53:53"), at, at + ttl
    )


def failed(name, *, ms=5000, fails=1, rest=5, at=NOW, status=DnsStatus.TIMEOUT):
    return DnsAnswer(name, Reply(status, resolve_ms=ms, error="silence"), at, at, at + rest, fails)


def entry(name, **options):
    return CachedAnswer(good(name, **options), now=options.get("at", NOW))


@pytest.fixture
def space():
    return CacheSpace(1000)
