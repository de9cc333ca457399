"""Values of extraction rules as numbers, prices and dates. Libraries read the usual notations. A
text that cannot be converted has no value. Only background jobs and commands call this, since the
texts are foreign.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import date, datetime
from functools import lru_cache
from typing import Any

import dateparser
from price_parser import Price

#: longer texts are no values of these types, and libraries take long to read them
MOST_NUMBER, MOST_DATE = 200, 80
PLAIN = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?")
SIGNED = re.compile(r"[-\u2212]\s*[0-9]")
#: the number of values that are kept in memory, since many pages often have the same value
KEPT = 20_000


def parse_number(text: str) -> float | None:
    if PLAIN.fullmatch(text):
        return _finite_or_none(float(text))
    if len(text) > MOST_NUMBER or not any(map(str.isdigit, text)):
        return None
    amount = _finite_or_none(Price.fromstring(text).amount_float)
    return -amount if amount is not None and SIGNED.match(text) else amount


def _finite_or_none(number: float | None) -> float | None:
    """The number; None if it is too large for JSON."""
    return number if number is not None and math.isfinite(number) else None


def parse_price(text: str) -> tuple[float | None, str | None]:
    """The amount, and the currency as written in the text."""
    if len(text) > MOST_NUMBER or not any(map(str.isdigit, text)):
        return None, None
    price = Price.fromstring(text)
    return _finite_or_none(price.amount_float), price.currency


def parse_date(text: str, *, on: datetime, language: str) -> str | None:
    """The date, with the time if the text has one, in ISO 8601.

    on: the time when the page was fetched, to which dates such as *yesterday* are relative.
    language: the page's language.
    """
    for read in (date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            return read(text).isoformat()
    if len(text) > MOST_DATE:
        return None
    return _parse_date(text, on.date().isoformat(), language)


@lru_cache(maxsize=KEPT)
def _parse_date(text: str, on: str, language: str) -> str | None:
    settings: Any = {
        "RELATIVE_BASE": datetime.fromisoformat(on),
        "PREFER_DAY_OF_MONTH": "first",
        "REQUIRE_PARTS": ["month", "year"],
    }
    found: datetime | None = None
    with suppress(ValueError):  # a language that the library does not know
        if language:
            found = dateparser.parse(text, languages=[language], settings=settings)
    found = found or dateparser.parse(text, settings=settings)
    if found is None:
        return None
    is_day = (found.hour, found.minute, found.second) == (0, 0, 0)
    return found.date().isoformat() if is_day else found.replace(microsecond=0).isoformat()
