"""How long a host is left alone, and when a failure is tried again (SEEDS B1)."""

from datetime import UTC, datetime
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.politeness import (
    LONGEST_RETRY_SECONDS,
    MAX_ADAPTIVE_SECONDS,
    MAX_ATTEMPTS,
    MAX_CRAWL_DELAY_SECONDS,
    MAX_RETRY_AFTER_SECONDS,
    backoff_seconds_after,
    delay_seconds_after,
    page_rest_seconds,
    read_retry_after,
    retry_seconds_after,
)

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("configured", "crawl_delay", "delay"),
    [
        (1, None, 1),
        (1, 0.5, 1),
        (1, 5, 5),
        (0, None, 0),
        (2, 10_000, MAX_CRAWL_DELAY_SECONDS),
        (600, 10_000, 600),
        (1, -3, 1),
    ],
)
def test_the_longer_of_two_delays_counts_as_far_as_a_site_may_ask(configured, crawl_delay, delay):
    assert delay_seconds_after(configured=configured, crawl_delay=crawl_delay) == delay


@given(st.floats(0, 3600), st.none() | st.floats() | st.sampled_from([nan, inf, -inf]))
def test_no_wish_of_a_site_shortens_the_configured_delay_or_has_no_end(configured, crawl_delay):
    assert (
        configured
        <= delay_seconds_after(configured=configured, crawl_delay=crawl_delay)
        <= max(configured, MAX_CRAWL_DELAY_SECONDS)
    )


def test_retries_come_later_and_later_and_end():
    assert [retry_seconds_after(1, asked) for asked in (0, 60, 1e9)] == [
        5,
        60,
        LONGEST_RETRY_SECONDS,
    ]
    assert [retry_seconds_after(attempts) for attempts in (1, 2, 3, 4)] == [5, 10, None, None]
    assert retry_seconds_after(MAX_ATTEMPTS) is None


@pytest.mark.parametrize(("last_fetch", "delay"), [(0.2, 1), (4, 8), (60, MAX_ADAPTIVE_SECONDS)])
def test_a_slow_host_rests_for_longer_up_to_a_bound(last_fetch, delay):
    assert (
        delay_seconds_after(configured=1, crawl_delay=None, last_fetch=last_fetch, factor=2)
        == delay
    )
    # its owner wants no rest
    assert delay_seconds_after(configured=0, crawl_delay=None, last_fetch=last_fetch, factor=2) == 0


def test_a_host_that_is_at_fault_rests_longer_after_each_other_url_that_fails_in_a_row():
    waits = [
        backoff_seconds_after(503, asked=None, in_a_row=times, chance=0)
        for times in (0, 2, 3, 1000)
    ]

    assert waits == [30, 30, 60, 3600]
    assert [backoff_seconds_after(-7, asked=None, in_a_row=n, chance=0) for n in (1, 3, 9)] == [
        5,
        10,
        60,
    ]
    assert backoff_seconds_after(403, asked=None, in_a_row=9, chance=0) == 0
    assert backoff_seconds_after(404, asked=7, in_a_row=9, chance=0) == 0


def test_a_host_rests_shortly_while_a_page_may_be_at_fault_itself():
    assert [page_rest_seconds(status, asked=None, chance=0) for status in (503, 429, -5)] == [
        5,
        5,
        5,
    ]
    assert [page_rest_seconds(status, asked=None, chance=0) for status in (500, 403, 404)] == [
        0,
        0,
        0,
    ]
    assert page_rest_seconds(503, asked=7, chance=0) == 7
    assert page_rest_seconds(404, asked=7, chance=0) == 0


def test_a_host_that_can_be_had_while_pages_fail_rests_only_for_what_is_about_the_client():
    for asked in (None, 7, 1e9):
        assert page_rest_seconds(503, asked=asked, chance=0, is_trusted=True) == 0
    assert page_rest_seconds(429, asked=None, chance=0, is_trusted=True) == 0
    assert page_rest_seconds(429, asked=7, chance=0, is_trusted=True) == 7


def test_a_retry_after_is_obeyed_for_the_host_as_far_as_it_may_be_about_the_host():
    assert backoff_seconds_after(429, asked=7, in_a_row=5, chance=0) == 7
    assert backoff_seconds_after(429, asked=1e9, in_a_row=2, chance=0) == MAX_RETRY_AFTER_SECONDS
    assert backoff_seconds_after(503, asked=1e9, in_a_row=2, chance=0) == MAX_RETRY_AFTER_SECONDS
    # pages that may be at fault themselves
    assert page_rest_seconds(429, asked=90, chance=0) == 90
    assert page_rest_seconds(429, asked=1e9, chance=0) == 300
    assert page_rest_seconds(503, asked=1e9, chance=0) == 10


@given(
    st.sampled_from([429, 503, -5]),
    st.none() | st.floats(0, 1e12),
    st.integers(1, 10**6),
    st.floats(0, 1, exclude_max=True),
)
def test_chance_draws_a_rest_out_and_never_cuts_it_short(status, asked, in_a_row, chance):
    least = backoff_seconds_after(status, asked=asked, in_a_row=in_a_row, chance=0)

    drawn_out = backoff_seconds_after(status, asked=asked, in_a_row=in_a_row, chance=chance)
    assert drawn_out == pytest.approx(least * (1 + chance / 10))
    assert least <= drawn_out <= 1.1 * MAX_RETRY_AFTER_SECONDS


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("Sun, 22 Nov 2026 12:01:30 GMT", 90),
        ("Sun, 22 Nov 2026 11:00:00 GMT", 0),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 99, None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(text, seconds):
    assert read_retry_after(text, NOON) == seconds


@pytest.mark.parametrize(
    ("asked", "answered", "seconds"),
    [
        ("Sun, 22 Nov 2026 15:00:30 GMT", "Sun, 22 Nov 2026 15:00:00 GMT", 30),
        ("Sun, 22 Nov 2026 09:00:30 GMT", "Sun, 22 Nov 2026 09:00:00 GMT", 30),
        ("Sun, 22 Nov 2026 12:01:30 GMT", "no date", 90),
        ("120", "Sun, 22 Nov 2026 15:00:00 GMT", 120),
    ],
)
def test_a_date_to_retry_after_is_read_by_the_clock_that_wrote_it(asked, answered, seconds):
    assert read_retry_after(asked, NOON, answered=answered) == seconds
