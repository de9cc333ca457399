"""Downloads stay within the bytes a second that were granted."""

from hypothesis import given
from hypothesis import strategies as st

from crawling.web.fetch.budgets import BURST_SECONDS, Bandwidth


class Clock:
    """Time passes when told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def test_a_seconds_worth_may_come_at_once():
    bandwidth = Bandwidth(1000, now=Clock())

    assert [bandwidth.take(500), bandwidth.take(500), bandwidth.take(1)] == [0, 0, 0.001]


def test_more_than_a_seconds_worth_is_paid_for_by_waiting():
    bandwidth = Bandwidth(1000, now=Clock())

    assert bandwidth.take(10_000) == 9


def test_several_takers_wait_one_behind_the_other():
    bandwidth = Bandwidth(1000, now=Clock())
    bandwidth.take(1000)

    assert [bandwidth.take(1000) for _ in range(3)] == [1, 2, 3]


def test_what_is_not_used_is_not_saved_up_beyond_a_second():
    clock = Clock()
    bandwidth = Bandwidth(1000, now=clock)
    bandwidth.take(1000)
    clock.now += 3600

    assert [bandwidth.take(1000), bandwidth.take(1000)] == [0, 1]


@given(
    st.integers(1, 10**9),
    st.lists(st.tuples(st.integers(0, 10**7), st.floats(0, 5)), min_size=1, max_size=50),
)
def test_in_the_long_run_the_rate_is_kept_whatever_is_taken_when(rate, takes):
    """A caller that waits as returned has, at any time, no more than the rate's share and one
    burst.
    """
    clock = Clock()
    bandwidth, taken, begun = Bandwidth(rate, now=clock), 0, clock.now

    for count, idle in takes:
        taken += count
        clock.now += bandwidth.take(count)
        allowed = rate * (clock.now - begun + BURST_SECONDS)
        assert taken <= allowed * (1 + 1e-6) + 1
        clock.now += idle


@given(st.integers(1, 10**6), st.lists(st.integers(1, 10**6), min_size=1, max_size=30))
def test_nobody_waits_longer_than_the_rate_asks_for(rate, counts):
    clock = Clock()
    bandwidth, begun = Bandwidth(rate, now=clock), clock.now

    for count in counts:
        clock.now += bandwidth.take(count)

    assert clock.now - begun <= sum(counts) / rate + 1e-6
