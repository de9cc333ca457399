"""Which runs go by which rule, and which stay whatever the rules say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from crawling.orders.retention import RetainedRun, Retention, fates_of_runs, read_retention

NOW = datetime(2026, 7, 1, tzinfo=UTC)
#: five runs, the latest first, each of 100 bytes, a day apart
RUNS = [
    RetainedRun(number, NOW - timedelta(days=5 - number), 100, {}) for number in (5, 4, 3, 2, 1)
]


def going(rules, runs=RUNS):
    return [
        fate.number
        for fate in fates_of_runs(rules, runs, NOW)
        if fate.goes_at and fate.goes_at <= NOW
    ]


@pytest.mark.parametrize(
    ("rules", "gone"),
    [
        (Retention(), []),
        (Retention(keep_runs=2), [3, 2, 1]),
        (Retention(keep_days=3), [2, 1]),
        (Retention(max_bytes=399), [2, 1]),
        (Retention(max_bytes=1), [4, 3, 2, 1]),
        (Retention(keep_runs=4, keep_days=3), [2, 1]),
    ],
)
def test_runs_go_as_soon_as_one_rule_says_so_and_the_latest_stays(rules, gone):
    assert going(rules) == gone


def test_a_run_stays_while_one_that_stays_needs_it_and_goes_with_one_that_goes():
    needed = [
        *RUNS[:3],
        RetainedRun(2, RUNS[3].ended_at, 100, {3: 7}),
        RetainedRun(1, RUNS[4].ended_at, 100, {5: 9}),
    ]

    assert going(Retention(keep_runs=2), needed) == [3, 2]
    assert (
        "its archive has the payloads of 9 pages of run 5"
        in fates_of_runs(Retention(keep_runs=2), needed, NOW)[4].sentence
    )


def test_the_day_on_which_a_run_goes_is_told_before():
    told = fates_of_runs(Retention(keep_days=10), RUNS, NOW)

    assert told[1].goes_at == RUNS[1].ended_at + timedelta(days=10)
    assert told[0].goes_at is None


def test_a_run_at_work_stays_even_as_the_second():
    assert going(Retention(keep_runs=1), [RUNS[0], RetainedRun(4, None, 100, {})]) == []


def test_wrong_rules_are_told_by_field():
    _, errors = read_retention({"keep_runs": 0, "keep_days": "soon", "min_bytes": 1})

    assert set(errors) == {"keep_runs", "keep_days", "min_bytes"}


def test_what_is_no_rule_is_told_which_there_are():
    assert read_retention({"keep": 1})[1] == {
        "keep": "is no rule for what is kept; these are: keep_runs, keep_days, max_bytes"
    }
