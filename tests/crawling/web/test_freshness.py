"""The age of an answer by its headers (RFC 9111)."""

from datetime import UTC, datetime, timedelta

import pytest

from crawling.web.http_caching import LONGEST_SECONDS, fresh_until, read_date

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = "Fri, 01 May 2026 13:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Expires": LATER}, 3600),
        ({"Cache-Control": "max-age=60"}, 60),
        ({"Cache-Control": 'public,MAX-AGE="60"', "Expires": LATER}, 60),
        ({"Cache-Control": "s-max-age=60", "Expires": "0"}, None),
        ({"Cache-Control": "max-age=9999999999"}, LONGEST_SECONDS),
        ({"Expires": "Fri, 01 May 2099 13:00:00 GMT"}, LONGEST_SECONDS),
    ],
)
def test_max_age_is_stronger_than_expires_and_nothing_holds_for_ever(headers, seconds):
    assert fresh_until(headers, NOW) == (
        None if seconds is None else NOW + timedelta(seconds=seconds)
    )


@pytest.mark.parametrize(
    "text",
    [
        "Fri, 01 May 2026 13:00:00 GMT",
        "Fri, 01 May 2026 15:00:00 +0200",
        "Fri, 01 May 2026 13:00:00",
    ],
)
def test_a_date_is_read_whatever_its_zone(text):
    assert read_date(text) == NOW + timedelta(hours=1)
