"""A crawl's accesses under other caches."""

import pytest

from dnscache.protocol.answers import DnsStatus
from dnscache.replay import KnownLookup, replay

DAY = [(float(second), "a.test") for second in range(0, 1000, 100)]


def test_only_those_without_expiry_serve_what_has_expired():
    figures = replay(DAY, {"a.test": KnownLookup(0.1, 250)}, capacity=10)

    assert {policy: (one.look_ups, one.expired) for policy, one in figures.items()} == {
        "LRU without TTL": (1, 7),
        "LRU with TTL": (4, 0),
        "patent, literally": (1, 7),
        "ours": (4, 0),
    }
    assert figures["ours"].mean_wait_ms == pytest.approx(40)
    assert figures["ours"].hit_share == 0.6


def test_a_name_that_fails_is_asked_for_again_and_again_only_where_failures_are_forgotten():
    trace = [(float(second), "to.test") for second in range(20)]

    figures = replay(trace, {"to.test": KnownLookup(5.0, 0, DnsStatus.TIMEOUT)}, capacity=10)

    assert figures["LRU with TTL"].look_ups == 20
    assert figures["ours"].look_ups == 3  # at once, after 5 s and after 10 s more


def test_a_cache_that_is_too_small_keeps_what_is_dear():
    trace = [(float(n), f"{'dear' if n % 2 else 'cheap'}{n % 40}.test") for n in range(2000)]
    known = {
        name: KnownLookup(2.0 if name.startswith("dear") else 0.01, 86400) for _, name in trace
    }

    figures = replay(trace, known, capacity=20)

    assert figures["ours"].waited < figures["LRU with TTL"].waited / 2
