"""A budget of visits a day holds between any two moments (SEEDS B8)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crawling.uses.revisits.visit_times import (
    end_of_spent_budget,
    shares_of_wait,
    spread_visits,
    visits_in_horizon,
)

MOMENTS = arrays(float, st.integers(0, 30), elements=st.floats(0, 50))
BUDGETS = st.sampled_from([0.25, 1.0, 4.0, 1000.0])


def most_at_once(moments, budget):
    """By how many visits the worst of all intervals is above its part of the budget."""
    moments = np.sort(moments)
    return max(
        (
            j - i + 1 - budget * (moments[j] - moments[i])
            for i in range(len(moments))
            for j in range(i, len(moments))
        ),
        default=0,
    )


@given(MOMENTS, BUDGETS, st.floats(0, 50))
def test_the_budget_holds_in_every_interval(wanted, budget, start):
    moments = spread_visits(wanted, budget, start)

    assert most_at_once(moments, budget) <= 1 + 1e-6
    assert (moments >= np.maximum(wanted, start)).all()


@given(MOMENTS, BUDGETS, st.floats(0, 50))
def test_no_visit_waits_longer_than_the_budget_asks(wanted, budget, start):
    moments = spread_visits(wanted, budget, start)

    late = moments > np.maximum(wanted, start) + 1e-9
    before = [(np.abs(moments - one + 1 / budget) < 1e-6).any() for one in moments[late]]
    assert all(before)  # each of these comes right behind another
    by_wish = np.argsort(wanted, kind="stable")
    assert (np.diff(moments[by_wish]) > 0).all()


def test_visits_follow_each_other():
    assert spread_visits(np.array([5.0, 0.0, 0.0]), 2, 1.0).tolist() == [5.0, 1.0, 1.5]
    assert spread_visits(np.array([0.0, 0.0]), 0.5, -np.inf).tolist() == [0.0, 2.0]


@given(MOMENTS, BUDGETS, st.floats(0, 3))
def test_each_visit_spends_its_share_unless_that_is_too_far_ahead(visits, budget, most):
    spent = 0.0
    for visit in np.sort(visits):
        spent = min(spent + 1 / budget, visit + most)

    assert end_of_spent_budget(visits, budget, 0.0, most) == pytest.approx(spent, abs=1e-9)


@given(MOMENTS)
def test_visits_within_half_a_day_are_near(visits):
    near = [int(((visits >= at - 0.5) & (visits < at + 0.5)).sum()) for at in visits]

    assert visits_in_horizon(visits).tolist() == near


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 1000))
def test_no_page_has_a_short_share_of_its_wait_for_ever(fingerprint, visits):
    shares = shares_of_wait([fingerprint] * 50, np.arange(visits, visits + 50, dtype=float))

    assert ((shares >= 0) & (shares < 1)).all()
    assert abs(shares.mean() - 0.5) < 0.05
