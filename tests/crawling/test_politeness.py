"""How long a host is left alone, and when a failure is tried again (SEEDS B1)."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.rules.politeness import MAX_ATTEMPTS, MAX_CRAWL_DELAY_SECONDS, delay_after, retry_after


@pytest.mark.parametrize(
    ("configured", "crawl_delay", "delay"),
    [(1, None, 1), (1, 0.5, 1), (1, 5, 5), (0, None, 0), (2, 10_000, MAX_CRAWL_DELAY_SECONDS), (600, 10_000, 600), (1, -3, 1)],
)
def test_the_longer_of_two_delays_counts_as_far_as_a_site_may_ask(configured, crawl_delay, delay):
    assert delay_after(configured=configured, crawl_delay=crawl_delay) == delay


@given(st.floats(0, 3600), st.none() | st.floats() | st.sampled_from([nan, inf, -inf]))
def test_no_wish_of_a_site_shortens_the_configured_delay_or_has_no_end(configured, crawl_delay):
    assert configured <= delay_after(configured=configured, crawl_delay=crawl_delay) <= max(configured, MAX_CRAWL_DELAY_SECONDS)


def test_retries_come_later_and_later_and_end():
    assert [retry_after(attempts) for attempts in (1, 2, 3, 4)] == [5, 10, None, None]
    assert retry_after(MAX_ATTEMPTS) is None


def test_an_origin_whose_robots_txt_cannot_be_had_is_left_alone_for_longer():
    assert [retry_after(attempts, of_robots=True) for attempts in (1, 2, 3)] == [60, 120, None]
