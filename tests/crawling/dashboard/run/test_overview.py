"""The forecast of a run's end: a range where rates differ, and no end where the frontier is
open.
"""

import pytest

from crawling.dashboard.run.overview import duration_in_words, remaining_in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (89, "89 seconds"),
        (91, "2 minutes"),
        (3600, "60 minutes"),
        (129_599, "36 hours"),
        (130_000, "2 days"),
    ],
)
def test_durations_are_told_in_the_largest_unit_that_fits(seconds, words):
    assert duration_in_words(seconds) == words


@pytest.mark.parametrize(
    ("known", "fetched", "most", "rates", "words"),
    [
        (
            1200,
            10,
            None,
            (2.0, 1.0),
            "About 10 to 20 minutes for the URLs found so far.",
        ),
        (
            1200,
            10,
            None,
            (2.0, None),
            "About 10 minutes for the URLs found so far.",
        ),
        (1200, 940, 1000, (2.0, 1.0), "About 30 to 60 seconds to the limit on pages."),
        (
            30,
            940,
            1000,
            (1.0, 1.0),
            "About 30 seconds for the URLs found so far.",
        ),
        (60, 940, 1000, (1.0, 1.0), "About 60 seconds to the limit on pages."),
        (0, 10, None, (2.0, 1.0), ""),
        (10, 1000, 1000, (2.0, 1.0), ""),
        (10, 0, None, (0.0, None), ""),
    ],
)
def test_a_run_is_told_a_range(known, fetched, most, rates, words):
    said = remaining_in_words(known=known, pages=fetched, fetched=fetched, most=most, rates=rates)

    assert said == words


def test_the_time_to_the_limit_on_pages_is_that_of_their_files_too():
    """A tenth of the answers are pages."""
    said = remaining_in_words(known=9_000, pages=10, fetched=100, most=16, rates=(1.0, 1.0))

    assert said == "About 60 seconds to the limit on pages."
