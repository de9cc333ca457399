"""The page that keeps the browser's own process busy is found by what both have worked."""

from itertools import accumulate

import pytest

from crawling.web.rendering.browser_load import MOST_SECONDS, BrowserLoad, LoadWatch

A_LOOK = 0.2
#: what the main thread has run and waited between two looks, and what pages 0 and 1 have worked
FLOOD = (0.15, 0.04, 0.18, 0.01)
USUAL = (0.05, 0.02, 0.1, 0.1)
#: the looks until the thread has run for as long as it may
ENOUGH = round(MOST_SECONDS / FLOOD[0]) + 1


def found(*steps):
    """The page that the watch names after each step."""
    watch, said = LoadWatch(), []
    totals = accumulate(steps, lambda before, step: tuple(map(sum, zip(before, step, strict=True))))
    for number, (ran, waited, *pages) in enumerate(totals):
        look = BrowserLoad(number * A_LOOK, ran, waited, dict(enumerate(pages)))
        said.append(watch.burdening(look))
    return said


def test_the_page_that_works_most_is_ended_once_the_thread_had_no_time_for_long():
    said = found(USUAL, *[FLOOD] * ENOUGH)

    assert set(said[:-2]) == {None}
    assert said[-1] == 0


def test_waits_for_a_processor_are_no_work():
    """The processors have other programs: 0.2 s of work take as long as a second."""
    starved = (0.02, 0.18, 0.02, 0.02)
    assert set(found(USUAL, *[starved] * 8)) == {None}


@pytest.mark.parametrize(
    "steps",
    [
        [FLOOD[:3]] * 2 * ENOUGH,
        [(0.15, 0.04, 0.02, 0.01)] * 2 * ENOUGH,
        [FLOOD, USUAL] * 2 * ENOUGH,
    ],
    ids=["no other page", "left by a page that has ended", "time to spare in between"],
)
def test_no_page_is_ended_without_need(steps):
    assert set(found(*steps)) == {None}
