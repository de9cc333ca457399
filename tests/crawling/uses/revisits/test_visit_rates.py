"""A budget of visits is spent so that pages are fresh (SEEDS B8; Azar and others 2018)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crawling.uses.revisits.visit_rates import (
    POLICIES,
    age_days_after,
    freshness_after,
    mean_age_days,
    mean_freshness,
    optimal_rates,
    proportional_rates,
    rates_by_policy,
    uniform_rates,
)
from tests.crawling.uses.revisits.simulated_visits import play, rates_of

MAGNITUDES = st.floats(-9, 9).map(lambda power: 10.0**power)
COUNTS = st.shared(st.integers(1, 30), key="pages")
POSITIVE = COUNTS.flatmap(lambda n: arrays(float, n, elements=MAGNITUDES))
WEIGHTS = COUNTS.flatmap(lambda n: arrays(float, n, elements=st.floats(1e-3, 1e3)))
OFTEN = COUNTS.flatmap(lambda n: arrays(float, n, elements=st.just(0.0) | MAGNITUDES))


def worth(changes, weights, visits):
    return float(weights @ mean_freshness(changes, visits))


@given(POSITIVE, WEIGHTS, MAGNITUDES)
def test_the_budget_is_spent_exactly_and_no_page_owes_visits(changes, weights, budget):
    visits = optimal_rates(changes, weights, budget)

    assert visits.sum() == pytest.approx(budget, rel=1e-12)
    assert (visits >= 0).all()


@given(POSITIVE, WEIGHTS, MAGNITUDES)
def test_one_more_visit_gains_the_same_on_each_visited_page_and_less_on_others(
    changes, weights, budget
):
    visits = optimal_rates(changes, weights, budget)

    gain = weights * changes / (changes + visits) ** 2
    visited = gain[visits > 0]
    assert visited == pytest.approx(np.full_like(visited, visited[0]), rel=1e-9)
    assert (gain[visits == 0] <= visited[0] * (1 + 1e-9)).all()


@given(OFTEN, WEIGHTS, MAGNITUDES)
def test_no_other_policy_keeps_pages_fresher(changes, weights, budget):
    best = worth(changes, weights, optimal_rates(changes, weights, budget)) * (1 + 1e-12)

    assert best >= worth(changes, weights, uniform_rates(changes, budget))
    assert best >= worth(changes, weights, proportional_rates(changes, budget))


@given(POSITIVE, WEIGHTS, MAGNITUDES, st.floats(1, 100))
def test_no_page_is_visited_less_for_a_larger_budget(changes, weights, budget, factor):
    small = optimal_rates(changes, weights, budget)

    assert (optimal_rates(changes, weights, budget * factor) >= small * (1 - 1e-9)).all()


@given(POSITIVE, WEIGHTS, MAGNITUDES, st.floats(1e-6, 1e6), st.floats(1e-3, 1e3))
def test_units_of_time_and_of_weight_change_nothing(changes, weights, budget, unit, share):
    scaled = optimal_rates(changes * unit, weights * share, budget * unit)

    plain = optimal_rates(changes, weights, budget)
    assert scaled / unit == pytest.approx(plain, rel=1e-6, abs=budget * 1e-9)


def test_two_pages_share_as_by_hand():
    """The gains 1 / (1 + x)^2 and 4 / (4 + y)^2 are equal, and x + y = 3."""
    visits = optimal_rates(np.array([1.0, 4.0]), np.ones(2), 3.0)

    assert visits == pytest.approx([5 / 3, 4 / 3])


def test_what_changes_too_often_gets_no_visits_before_the_budget_is_larger():
    changes, weights = np.array([1.0, 100.0]), np.ones(2)

    assert optimal_rates(changes, weights, 2.0).tolist() == [2.0, 0.0]
    assert optimal_rates(changes, weights, 200.0)[1] > 0


@pytest.mark.parametrize(
    ("changes", "weights", "budget"),
    [([], [], 5.0), ([0.0, 0.0], [1.0, 1.0], 5.0), ([1.0], [0.0], 5.0), ([1.0], [1.0], 0.0)],
)
def test_nothing_is_visited_without_pages_changes_weights_or_budget(changes, weights, budget):
    assert not optimal_rates(np.array(changes), np.array(weights), budget).any()


@pytest.mark.parametrize(
    ("changes", "weights", "budget", "named"),
    [
        ([-1.0], [1.0], 1.0, "changes"),
        ([1.0], [np.nan], 1.0, "weights"),
        ([1.0], [1.0], np.inf, "budget"),
    ],
)
def test_what_is_no_rate_is_refused_by_name(changes, weights, budget, named):
    with pytest.raises(ValueError, match=named):
        optimal_rates(np.array(changes), np.array(weights), budget)


def test_a_page_that_never_changes_is_fresh_unvisited_and_another_is_not():
    changes, visits = np.array([0.0, 2.0]), np.zeros(2)

    assert mean_freshness(changes, visits).tolist() == [1.0, 0.0]
    assert mean_age_days(changes, visits).tolist() == [0.0, np.inf]


@pytest.mark.parametrize("policy", ["uniform", "proportional", "optimal"])
def test_a_simulation_finds_the_freshness_and_age_that_are_expected(policy):
    changes, budget = np.linspace(0.1, 4.0, 300), 300.0
    visits = {
        "uniform": uniform_rates(changes, budget),
        "proportional": proportional_rates(changes, budget),
        "optimal": optimal_rates(changes, np.ones_like(changes), budget),
    }[policy]

    played = play(changes, visits, 1000, 3)

    assert played.freshness.mean() == pytest.approx(
        mean_freshness(changes, visits).mean(), rel=0.02
    )
    often = visits > 0.1
    assert played.age[often].mean() == pytest.approx(
        mean_age_days(changes, visits)[often].mean(), rel=0.05
    )


def test_visits_at_one_interval_are_better_than_visits_at_random_and_the_order_stays():
    changes, budget = rates_of(2000, 7), 400.0
    uniform = uniform_rates(changes, budget)
    optimal = optimal_rates(changes, np.ones_like(changes), budget)

    at_random = play(changes, optimal, 200, 8).freshness.mean()
    evenly = play(changes, optimal, 200, 8, is_even=True).freshness.mean()

    assert evenly > at_random > play(changes, uniform, 200, 8).freshness.mean()


@pytest.mark.parametrize("policy", POLICIES)
@given(changes=POSITIVE, budget=MAGNITUDES, wanted=MAGNITUDES)
def test_each_policy_gives_every_page_at_least_what_is_asked_if_the_budget_has_it(
    policy, changes, budget, wanted
):
    visits = rates_by_policy(policy, changes, budget, least=wanted)

    least = min(wanted, budget / len(changes))
    assert (visits >= least).all()
    assert visits.sum() == pytest.approx(budget, rel=1e-9)


@given(POSITIVE, MAGNITUDES, MAGNITUDES)
def test_among_such_visits_no_other_gain_more(changes, budget, wanted):
    visits = rates_by_policy("optimal", changes, budget, least=wanted)

    gain = changes / (changes + visits) ** 2
    is_free = visits > min(wanted, budget / len(changes)) * (1 + 1e-9)
    assert np.ptp(np.log(gain[is_free])) < 1e-6 if is_free.any() else True
    assert not is_free.any() or (gain[~is_free] <= gain[is_free].min() * (1 + 1e-6)).all()


def test_pages_that_never_change_are_visited_as_rarely_as_is_asked():
    never = np.zeros(3)

    for policy in ("optimal", "proportional"):
        assert rates_by_policy(policy, never, 30.0, least=0.1).tolist() == [0.1] * 3
    assert rates_by_policy("uniform", never, 30.0, least=0.1).tolist() == [10.0] * 3


@given(OFTEN, st.floats(0.001, 100))
def test_freshness_and_age_after_a_visit_are_those_of_the_first_change(changes, days):
    since = np.full_like(changes, days)
    moments = (np.arange(2000) + 0.5) / 2000 * days
    unseen = np.exp(-np.outer(changes, moments)).mean(axis=1) * days  # of its fresh days

    assert freshness_after(changes, since) == pytest.approx(np.exp(-changes * days))
    is_slow = changes * days < 100  # else the sum of so few moments is too coarse
    assert age_days_after(changes, since)[is_slow] == pytest.approx(
        (days - unseen)[is_slow], rel=1e-2, abs=1e-6 * days
    )
    assert (age_days_after(changes, since) <= days).all()
