"""A span of time that filters a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime

from django.db.models import Q
from django.utils import timezone


@dataclass(frozen=True)
class TimeRange:
    """A range of time. None means no bound."""

    #: the first moment in the range
    since: datetime | None = None
    #: the first moment after the range
    until: datetime | None = None

    @classmethod
    def read(cls, query: Mapping[str, str]) -> TimeRange:
        """The range in an address, in ISO 8601, in the user's time zone unless another is given.
        Invalid values are ignored.
        """
        return cls(*(_read_moment(query.get(name, "")) for name in ("since", "until")))

    def __bool__(self) -> bool:
        return bool(self.since or self.until)

    def of(self, column: str) -> Q:
        bounds = {f"{column}__gte": self.since, f"{column}__lt": self.until}
        return Q(**{name: moment for name, moment in bounds.items() if moment})


ALWAYS = TimeRange()


def _read_moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
        aware = moment if moment.tzinfo else timezone.make_aware(moment)
        inside = aware.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    # lists convert the moment to time zones, so times before and after it must exist
    return inside if MINYEAR < inside.year < MAXYEAR else None
