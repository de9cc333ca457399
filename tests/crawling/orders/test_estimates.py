"""The load of an order on hosts is foretold from its delay, budgets and limits."""

from __future__ import annotations

import pytest

from crawling.orders.estimates import estimate_sentences
from crawling.orders.order import read_order

TWO = ["http://a.test/", "http://b.test/x", "http://b.test/y"]


def foreseen(**fields) -> str:
    order, errors = read_order({"name": "a crawl", "seeds": TWO, **fields})
    assert order, errors
    return " ".join(estimate_sentences(order))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"delay_seconds": 2}, "at most 30 requests a minute and 43,200 a day"),
        (
            {"delay_seconds": 2, "host_requests_a_minute": 6},
            "at most 6 requests a minute and 8,640 a day",
        ),
        (
            {"delay_seconds": 2, "host_requests_a_day": 100},
            "at most 30 requests a minute and 100 a day",
        ),
        ({"delay_seconds": 600}, "at most 1 requests a minute and 144 a day"),
        ({"delay_seconds": 0}, "as fast as it answers"),
        (
            {"delay_seconds": 0, "host_requests_a_minute": 6},
            "at most 6 requests a minute and 8,640 a day",
        ),
        (
            {"max_pages": 1000},
            "On 2 hosts each gets about 500 requests, which takes at least 8 minutes.",
        ),
        (
            {"max_pages": 1000, "host_max_pages": 30},
            "On 2 hosts each gets about 30 requests, which takes at least 30 s.",
        ),
        ({"max_pages": 1000, "scope": "domain"}, "with more hosts, fewer"),
        ({}, "It starts with 2 hosts. There is no page limit"),
    ],
)
def test_an_estimate_follows_from_the_order(fields, says):
    assert says in foreseen(**fields)
