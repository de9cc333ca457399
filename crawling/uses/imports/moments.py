"""Dates of records, with the precision with which files state them (WARC 1.1, section 5.4; ARC)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

#: W3CDTF, with any number of fractional digits, and the 8 to 17 digits of ARC and CDX
DATE = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[T ]?(\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,]?(\d+))?)?)?)?)?)?"
    r"[ ]?(Z|UTC|GMT|[+-]\d\d:?\d\d)?",
    re.IGNORECASE,
)
LONGEST = 60


@dataclass(frozen=True)
class Moment:
    at: datetime
    #: the length of the time that the date may mean: from a year to a microsecond
    lasts: timedelta

    def agrees(self, other: Moment) -> bool:
        """Whether both dates can mean the same time."""
        return self.at < other.at + other.lasts and other.at < self.at + self.lasts


LASTS = (
    timedelta(days=366),
    timedelta(days=31),
    timedelta(days=1),
    timedelta(hours=1),
    timedelta(minutes=1),
    timedelta(seconds=1),
)


def read_moment(text: str) -> Moment:
    """Raises ValueError."""
    said = text.strip()[:LONGEST]
    found = DATE.fullmatch(said)
    if not found:
        return Moment(_read_mail_date(said), timedelta(seconds=1))
    *numbers, fraction, zone = found.groups()
    given = [int(number) for number in numbers if number]
    year, month, day, hour, minute, second = [*given, *(0, 1, 1, 0, 0, 0)[len(given) :]]
    # a day may end at 24:00 (ISO 8601); a leap second counts as the second before it
    days = int((hour, minute, second) == (24, 0, 0))
    hour -= 24 * days
    at = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=_read_zone(zone))
    lasts = LASTS[len(given) - 1]
    if fraction:
        at += timedelta(microseconds=int(fraction[:6].ljust(6, "0")))
        lasts = timedelta(microseconds=10 ** max(0, 6 - len(fraction)))
    return Moment(_utc_time(at, timedelta(days)), lasts)


def _read_mail_date(text: str) -> datetime:
    """A date in the form of RFC 5322, which HTTP uses, too."""
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("there is no such date") from error


def _utc_time(at: datetime, later: timedelta) -> datetime:
    try:
        return (at + later).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("there is no such date") from error


def _read_zone(text: str | None) -> timezone:
    if not text or text.upper() in ("Z", "UTC", "GMT"):
        return UTC
    minutes = 60 * int(text[1:3]) + int(text[-2:])
    return timezone(timedelta(minutes=minutes if text[0] == "+" else -minutes))
