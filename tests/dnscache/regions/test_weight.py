from math import inf

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dnscache.regions.entry import (
    HALF_LIFE_SECONDS,
    answer_weight,
    decayed_hits,
    requests_per_second,
)

numbers = st.floats(0, 1e6, allow_nan=False)


@given(numbers, numbers, numbers, st.floats(1, 10))
def test_a_costlier_longer_lived_or_more_wanted_answer_weighs_no_less(
    cost, life, per_second, factor
):
    base = answer_weight(cost_seconds=cost, life_seconds=life, per_second=per_second)

    assert 0 <= base < inf
    assert (
        answer_weight(cost_seconds=cost * factor, life_seconds=life, per_second=per_second) >= base
    )
    assert (
        answer_weight(cost_seconds=cost, life_seconds=life * factor, per_second=per_second)
        >= base * 0.999999
    )
    assert (
        answer_weight(cost_seconds=cost, life_seconds=life, per_second=per_second * factor)
        >= base * 0.999999
    )


@given(numbers, numbers)
def test_an_answer_that_does_not_live_weighs_nothing(cost, per_second):
    assert answer_weight(cost_seconds=cost, life_seconds=0, per_second=per_second) == 0


def test_the_weight_is_the_threads_saved():
    """Asked for ten times a second, it is looked up once in 100.1 s instead of 1001 times: 0.5 s
    each.
    """
    assert answer_weight(cost_seconds=0.5, life_seconds=100, per_second=10) == pytest.approx(
        0.5 * 10 * 1000 / 1001
    )


def test_hits_fade_by_half_in_a_half_life():
    assert decayed_hits(4, HALF_LIFE_SECONDS) == 3
    assert requests_per_second(4, HALF_LIFE_SECONDS) == pytest.approx(requests_per_second(4, 0) / 2)


@given(st.floats(-1e9, 1e9))
def test_a_clock_that_is_set_back_does_no_harm(idle):
    assume(idle < 0)
    assert decayed_hits(4, idle) == 5
    assert requests_per_second(4, idle) == requests_per_second(4, 0)
