"""Fetch threads are shared out among hosts: who keeps one for long lets others go first."""

import pytest

from crawling.web.politeness import SHORT_SECONDS, penalty_seconds


@pytest.mark.parametrize("threads", [1, 2, 8, 20])
@pytest.mark.parametrize("held", [2.1, 10, 60])
def test_in_the_long_run_no_host_has_more_of_the_fetch_threads_than_its_share(held, threads):
    assert held / (held + penalty_seconds(held, threads)) / threads == pytest.approx(1 / 40)


def test_whoever_is_quick_or_has_fetch_threads_enough_about_lets_nobody_go_first():
    assert penalty_seconds(SHORT_SECONDS, 8) == 0
    assert penalty_seconds(60, 40) == 0
    assert penalty_seconds(60, 400) == 0
