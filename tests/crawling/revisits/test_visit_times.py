"""A budget of visits a day holds between any two moments (SEEDS B8)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crawling.frontier.rules.visit_times import free_from, spread

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


@given(MOMENTS, MOMENTS, BUDGETS)
def test_the_budget_holds_in_every_interval_also_with_visits_that_were_made(made, wanted, budget):
    made = spread(made, budget, -np.inf)

    following = spread(np.maximum(wanted, 50), budget, free_from(made, budget))

    assert most_at_once(np.concatenate([made, following]), budget) <= 1 + 1e-6
    assert (following >= wanted).all()


@given(MOMENTS, BUDGETS, st.floats(0, 50))
def test_no_visit_waits_longer_than_the_budget_asks(wanted, budget, start):
    moments = spread(wanted, budget, start)

    late = moments > np.maximum(wanted, start) + 1e-9
    before = [(np.abs(moments - one + 1 / budget) < 1e-6).any() for one in moments[late]]
    assert all(before)  # each of these comes right behind another
    by_wish = np.argsort(wanted, kind="stable")
    assert (np.diff(moments[by_wish]) > 0).all()


def test_visits_follow_each_other_and_what_was_not_used_is_used_later():
    assert spread(np.array([5.0, 0.0, 0.0]), 2, 1.0).tolist() == [5.0, 1.0, 1.5]
    assert spread(np.array([0.0, 0.0]), 0.5, -np.inf).tolist() == [0.0, 2.0]
    assert free_from(np.array([]), 2) == -np.inf
    assert free_from(np.array([9.0]), 2) == 9.5
    assert free_from(np.array([1.0, 1.0, 1.0, 9.0]), 2) == pytest.approx(9.5)
    assert free_from(np.array([1.0, 1.0, 1.0, 1.0]), 2) == 3.0
