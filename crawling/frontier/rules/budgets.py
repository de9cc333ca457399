"""How many requests a host may get in a minute and in a day, from all crawls together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from crawling.orders.sections.politeness import PolitenessPart


@dataclass(frozen=True, slots=True)
class RequestsSpent:
    """Requests that a host got."""

    #: the last of them; None: there were none
    at: datetime | None = None
    #: in the minute of the last, by UTC
    in_minute: int = 0
    #: in the day of the last, by UTC
    in_day: int = 0

    def plus_one(self, now: datetime) -> RequestsSpent:
        """With a request more, which ends now."""
        return RequestsSpent(now, self._in_minute(now) + 1, self._in_day(now) + 1)

    def _in_minute(self, now: datetime) -> int:
        return self.in_minute if self.at and _minute(self.at) == _minute(now) else 0

    def _in_day(self, now: datetime) -> int:
        return self.in_day if self.at and self.at.date() == now.date() else 0

    def seconds_to_wait(self, politeness: PolitenessPart, now: datetime) -> float:
        """Seconds until the crawl's budget allows another request."""
        a_day, a_minute = politeness.host_requests_a_day, politeness.host_requests_a_minute
        if a_day is not None and self._in_day(now) >= a_day:
            tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
            return (tomorrow - now).total_seconds()
        if a_minute is not None and self._in_minute(now) >= a_minute:
            return (_minute(now) + timedelta(minutes=1) - now).total_seconds()
        return 0.0


NOTHING_SPENT = RequestsSpent()


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)
