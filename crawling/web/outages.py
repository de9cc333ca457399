"""Outages of hosts, or of their origins: how long their URLs wait, and when the host is given
up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from crawling.web.politeness import DOUBTFUL_ROW, JITTER

#: the queue rests for this time after the first failed try, and twice as long after each further
#: one
FIRST_PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 2 * 3600.0
#: the time after which a host that has never answered is given up, even if the crawl waits longer
#: for other hosts
NEVER_HEARD_SECONDS = 3600.0
#: the same for a host whose links are only checked
CHECK_PATIENCE_SECONDS = 60.0
TIMES = ("since", "retry_at", "gives_up_at")


@dataclass(frozen=True, slots=True)
class Outage:
    #: the time of the first failed try
    since: datetime
    #: the number of failed tries in a row
    tries: int
    #: the status of the latest try
    status: int
    #: the error of the latest try, as a sentence
    error: str
    retry_at: datetime
    #: a try that fails after this time is the last
    gives_up_at: datetime
    #: the number of pages that failed in a row; 0 if no page was requested
    row: int = 0
    #: a page that was fetched before; requesting it distinguishes a refusing host from failing
    #: pages
    known_page: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether enough pages failed in a row that the host itself may be refusing them."""
        return self.row >= DOUBTFUL_ROW

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), **{name: getattr(self, name).isoformat() for name in TIMES}}

    @property
    def sentence(self) -> str:
        """The sentence that an operator reads while the crawl waits."""
        again, end = _time_text(self.retry_at), _time_text(max(self.retry_at, self.gives_up_at))
        since = f"{_tries_in_words(self.tries)} since {_time_text(self.since)}"
        return f"{self.error} {since}; next attempt at {again}; given up at {end}."

    @property
    def failure_reason(self) -> str:
        """The reason why its URLs failed after it was given up."""
        return f"{self.error} {_tries_in_words(self.tries)} from {_time_text(self.since)} on."


def read_outage(fields: Mapping[str, Any] | None) -> Outage | None:
    """Return the outage from its `as_json`."""
    if not fields:
        return None
    return Outage(**{**fields, **{name: datetime.fromisoformat(fields[name]) for name in TIMES}})


def read_outages(fields: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Outage]:
    """Return the outages, by origin, from their `as_json`."""
    found = {origin: read_outage(outage) for origin, outage in (fields or {}).items()}
    return {origin: outage for origin, outage in found.items() if outage}


def outage_waited_for(origins: Iterable[Outage], due_at: datetime, now: datetime) -> Outage | None:
    """Return the outage for which a host's queue with this due time waits, if any: the outage of
    the origin that is tried again first.
    """
    first = min(origins, key=lambda outage: outage.retry_at, default=None)
    return first if first and now < first.retry_at <= due_at else None


def pause_seconds_after(tries: int, chance: float) -> float:
    """Seconds until the next try. chance: a random number below 1."""
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(tries - 1, 30), LONGEST_PAUSE_SECONDS)
    return float(pause * (1 + JITTER * chance))


def outage_after(
    before: Outage | None,
    status: int,
    error: str,
    *,
    now: datetime,
    pause_seconds: float,
    patience_seconds: float,
    row: int = 0,
    known_page: str = "",
) -> Outage:
    """Return the outage after a further failed try. The last try is not postponed.

    patience_seconds: how long the crawl waits for this host.
    """
    since = before.since if before else now
    gives_up_at = since + timedelta(seconds=patience_seconds)
    wait = min(pause_seconds, max(0.0, (gives_up_at - now).total_seconds()))
    tries = before.tries + 1 if before else 1
    retry_at = now + timedelta(seconds=wait)
    return Outage(since, tries, int(status), error, retry_at, gives_up_at, row, known_page)


def host_patience_seconds(seconds: float, *, has_answered: bool) -> float:
    """The seconds for which a crawl waits for this host. seconds: its usual patience."""
    return seconds if has_answered else min(seconds, NEVER_HEARD_SECONDS)


def _time_text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _tries_in_words(tries: int) -> str:
    return f"{tries:,} {'try' if tries == 1 else 'tries'}"
