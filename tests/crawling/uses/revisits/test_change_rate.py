"""Rates of change are estimated from irregular visits (SEEDS B8; Cho and Garcia-Molina 2003)."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.uses.revisits.change_rate import Prior, Visits, estimate_rates
from crawling.uses.revisits.planner import prior_of
from tests.crawling.uses.revisits.simulated_visits import play

#: a prior that weighs nothing beside one visit
FAINT = Prior(rate=1.0, weight=1e-9)
PRIOR = Prior(rate=0.1, weight=0.5)


def visits(*seen, page=0):
    """seen: days since the visit before, whether the page changed, and perhaps its age."""
    return Visits(
        np.full(len(seen), page),
        np.array([days for days, *_ in seen], dtype=float),
        np.array([changed for _, changed, *_ in seen], dtype=bool),
        np.array([age[0] if age else np.nan for _, _, *age in seen], dtype=float),
    )


def rate(seen, prior=PRIOR):
    return estimate_rates(seen, 1, prior).rate[0]


@pytest.mark.parametrize(("n", "changed", "days"), [(10, 3, 2.0), (50, 49, 0.5), (4, 4, 7.0)])
def test_visits_at_one_interval_give_the_papers_estimate_without_bias(n, changed, days):
    seen = visits(*((days, number < changed) for number in range(n)))

    assert rate(seen, FAINT) == pytest.approx(
        -log((n - changed + 0.5) / (n + 0.5)) / days, rel=1e-6
    )


def test_a_page_without_visits_has_the_rate_of_the_prior_and_a_wide_interval():
    found = estimate_rates(visits(), 1, PRIOR)

    assert found.rate[0] == pytest.approx(0.1)
    assert found.low[0] < 0.01 < 0.9 < found.high[0]


def test_a_page_that_never_changed_is_thought_slower_the_longer_it_is_watched():
    rates = [rate(visits(*[(5, False)] * n)) for n in (0, 1, 10, 1000)]

    assert rates == sorted(rates, reverse=True)
    assert rates[-1] > 0


def test_a_page_that_always_changed_is_thought_quicker_the_longer_it_is_watched():
    rates = [rate(visits(*[(5, True)] * n)) for n in (0, 1, 10, 1000)]

    assert rates == sorted(rates)
    assert np.isfinite(rates[-1])


def test_the_moment_of_the_last_change_tells_more_than_that_there_was_one():
    plain = estimate_rates(visits(*[(5, True)] * 20), 1, FAINT)
    dated = estimate_rates(visits(*[(5, True, 0.25)] * 20), 1, FAINT)

    assert dated.rate[0] == pytest.approx(4, rel=0.05)
    assert dated.high[0] / dated.low[0] < plain.high[0] / plain.low[0]


@pytest.mark.parametrize("age", [-1, 5.5, np.inf])
def test_an_age_that_cannot_be_is_ignored(age):
    assert rate(visits((5, True, age))) == rate(visits((5, True)))


def test_an_age_of_an_unchanged_page_is_ignored():
    assert rate(visits((5, False, 1))) == rate(visits((5, False)))


@pytest.mark.parametrize("days", [0, -1, np.nan, np.inf])
def test_visits_without_days_between_them_are_refused(days):
    with pytest.raises(ValueError, match="days"):
        visits((days, True))


@pytest.mark.parametrize("prior", [Prior(0, 1), Prior(1, 0)])
def test_a_prior_that_says_nothing_is_refused(prior):
    with pytest.raises(ValueError, match="prior"):
        estimate_rates(visits(), 1, prior)


def log_likelihood(at, seen, prior):
    """By its definition, with the half visit of the bias and the prior."""
    total = prior.weight * (log(at) - at / prior.rate)
    for days, changed in seen:
        total += log(-np.expm1(-at * days)) if changed else -at * days
    return total - at * np.mean([days for days, _ in seen]) / 2


SEEN = st.lists(st.tuples(st.floats(1e-3, 1e3), st.booleans()), min_size=1, max_size=12)


@given(SEEN)
def test_no_other_rate_is_more_likely(seen):
    found = rate(visits(*seen))

    best = log_likelihood(found, seen, PRIOR)
    assert best >= log_likelihood(found * 1.01, seen, PRIOR)
    assert best >= log_likelihood(found / 1.01, seen, PRIOR)


@given(SEEN, st.floats(1e-6, 1e6))
def test_another_unit_of_time_changes_nothing(seen, unit):
    scaled = [(days * unit, changed) for days, changed in seen]

    assert rate(visits(*scaled), Prior(PRIOR.rate / unit, PRIOR.weight)) * unit == pytest.approx(
        rate(visits(*seen)), rel=1e-9
    )


@given(SEEN, SEEN)
def test_pages_do_not_mix(one, two):
    first, second = visits(*one), visits(*two, page=1)
    both = Visits(
        *(
            np.concatenate((getattr(second, name), getattr(first, name)))
            for name in ("page", "days", "changed", "age")
        )
    )

    assert estimate_rates(both, 2, PRIOR).rate == pytest.approx(
        [rate(first), rate(visits(*two))], rel=1e-9
    )


@pytest.mark.parametrize("is_dated", [False, True])
def test_true_rates_are_found_from_visits_at_random(is_dated):
    changes = np.repeat([0.02, 0.3, 3.0], 500)
    seen = play(changes, np.ones_like(changes), 200, 5).seen
    if not is_dated:
        seen = Visits(seen.page, seen.days, seen.changed, np.full_like(seen.days, np.nan))

    found = estimate_rates(seen, len(changes), Prior(0.3, 0.1))

    assert np.median(found.rate.reshape(3, 500), axis=1) == pytest.approx(
        [0.02, 0.3, 3.0], rel=0.08
    )
    within = (found.low <= changes) & (changes <= found.high)
    assert (within.reshape(3, 500).mean(axis=1) > 0.9).all()


def test_limits_of_a_page_that_was_never_seen_changed_are_those_of_a_count_of_none():
    faint = Prior(0.01, 1e-9)

    found = estimate_rates(visits(*[(1, False)] * 20), 1, faint)

    days = 20.5 + faint.weight / faint.rate  # with the half visit
    assert 3.7 / days < found.high[0] < 4.1 / days
    assert 0 < found.low[0] < found.rate[0]


@given(SEEN)
def test_the_estimate_is_within_its_interval_whose_ends_are_finite(seen):
    found = estimate_rates(visits(*seen), 1, PRIOR)

    assert 0 < found.low[0] <= found.rate[0] <= found.high[0] < np.inf


@pytest.mark.parametrize(("number", "days"), [(7, 1.0), (14, 1.0), (30, 1.0), (8, 7.0)])
def test_the_interval_has_the_true_rate_of_nearly_all_pages(number, days):
    """Of pages that change up to three times between two visits, among a crawl's other pages."""
    rates = np.repeat(np.array([0.01, 0.05, 0.2, 1, 3]) / days, 1000)
    chance = np.random.default_rng(4)
    changed = chance.random((len(rates), number)) < -np.expm1(-rates * days)[:, None]
    every = np.repeat(np.arange(len(rates)), number)
    unknown = np.full(len(every), np.nan)
    seen = Visits(every, np.full(len(every), days), changed.ravel(), unknown)

    found = estimate_rates(seen, len(rates), prior_of(seen))

    within = (found.low <= rates) & (rates <= found.high)
    assert (within.reshape(5, -1).mean(axis=1) > 0.9).all()
