"""When a host may be asked again (its delay, its wishes, and what the crawl's budget for it
leaves), whether it lets itself be fetched from, how long to wait until it does, and when it is
given up.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from crawling.frontier.rules.hosts import NOTHING_SPENT, RequestsSpent
from crawling.orders.sections.politeness import PolitenessPart
from crawling.web.fetch.http import Fetched
from crawling.web.outages import CHECK_PATIENCE_SECONDS, Outage, outage_after, patience, pause_after
from crawling.web.politeness import BACKOFFS, JITTER, backoff_after, delay_after, read_retry_after
from crawling.web.statuses import FetchStatus, explain


@dataclass
class HostClock:
    """The clock of one visit. All times are monotonic seconds.

    The shift alone writes what it takes from the crawl's order, the thread that has the visit
    writes the rest: neither can undo what the other wrote.
    """

    #: when the next request may begin
    free_at: float
    #: written by the shift alone
    configured_delay: float
    #: written by the shift alone
    politeness: PolitenessPart
    #: robots.txt's
    asked_delay: float = 0.0
    last_fetch_seconds: float = 0.0
    #: answers in a row by which the host said that it has too much to do
    backoffs: int = 0
    #: requests that the host has had
    spent: RequestsSpent = NOTHING_SPENT
    #: whether its row has all of them
    is_counted: bool = True
    #: as `free_at`, but for the budget, which binds this crawl alone
    host_free_at: float = 0.0
    #: the host lets nothing be fetched before
    closed_until: float = 0.0

    def __post_init__(self) -> None:
        self.host_free_at = self.host_free_at or self.free_at

    @property
    def rests_for_budget(self) -> bool:
        """Whether the host itself could be asked sooner."""
        return self.free_at > self.host_free_at

    @property
    def delay(self) -> float:
        """Seconds from the end of a fetch to the next; of two origins on a host the longer delay
        counts.
        """
        return delay_after(
            configured=self.configured_delay,
            crawl_delay=self.asked_delay,
            last_fetch=self.last_fetch_seconds,
            factor=self.politeness.delay_factor,
        )

    def rest(self, status: int, seconds: float, *, retry_after: str = "") -> None:
        """A fetch has just ended: wait for the delay, or for longer where the host says that it has
        too much to do.
        """
        self.last_fetch_seconds = seconds
        if status in BACKOFFS:
            self.backoffs += 1
        elif status > 0:
            self.backoffs = 0
        now = datetime.now(UTC)
        asked = read_retry_after(retry_after, now)
        # no secret
        backoff = backoff_after(status, asked=asked, in_a_row=self.backoffs, chance=random.random())  # noqa: S311
        self.spent, self.is_counted = self.spent.plus_one(now), False
        self.host_free_at = time.monotonic() + max(self.delay, backoff)
        self.keep_budget()

    def rest_for_delay(self) -> None:
        """Leave the host alone for its delay from now on, at least."""
        self.host_free_at = max(self.host_free_at, time.monotonic() + self.delay)
        self.keep_budget()

    def come_back_in(self, seconds: float) -> None:
        """Wait so long at least, for something that is not the host's doing."""
        self.free_at = max(self.free_at, time.monotonic() + seconds)

    def keep_budget(self) -> None:
        """Wait for the host, and for the next minute or day where the crawl's budget for it is
        spent.
        """
        wait = self.spent.seconds_to_wait(self.politeness, datetime.now(UTC))
        self.free_at = (
            max(self.host_free_at, time.monotonic() + wait) if wait else self.host_free_at
        )
        self.free_at = max(self.free_at, self.closed_until)

    def skip(self) -> None:
        """No further request is made: the remaining URLs need not wait."""
        self.closed_until, self.free_at = 0.0, time.monotonic()


@dataclass
class HostAvailability:
    """Of one visit's host."""

    clock: HostClock
    #: the host has answered at some time
    was_heard: bool = False
    #: it lets nothing be fetched
    outage: Outage | None = None
    #: origins that let nothing be fetched, while another of the host does
    origins: dict[str, Outage] = field(default_factory=dict)
    #: the host's row says so, too
    is_kept: bool = True
    #: it is not of the crawl's sites: its URLs are only checked
    is_checked: bool = False
    #: why all URLs of the host fail
    given_up: Fetched | None = None

    def suspend(self, fetched: Fetched) -> None:
        """The host lets nothing be fetched: wait with all of its URLs for as long as the outage
        says, or give it up.
        """
        self._note_outage(fetched, _pause(self.outage))
        if self.outage and not self.given_up:
            left = (self.outage.retry_at - datetime.now(UTC)).total_seconds()
            self.clock.closed_until = time.monotonic() + left
            self.clock.keep_budget()

    def note_throttling(self, fetched: Fetched) -> None:
        """The host wishes to be left alone, and is.

        Should it wish so for longer than the crawl waits, it is given up: at once, if it says so.
        """
        rest = self.clock.host_free_at - time.monotonic()
        self._note_outage(fetched, rest)
        if rest > self._patience * (1 + JITTER):
            self._give_up(fetched.status)

    def recover(self) -> None:
        """The host has answered."""
        self.was_heard = True
        if self.outage:
            self.outage, self.is_kept, self.clock.closed_until = None, False, 0.0

    def suspend_origin(self, origin: str, fetched: Fetched) -> None:
        """The origin lets nothing be fetched, though another of the host does: its URLs alone wait.

        It never answered, for otherwise its earlier robots.txt would hold on.
        """
        before = self.origins.get(origin)
        self.origins[origin] = outage_after(
            before,
            fetched.status,
            f"{origin}: {fetched.error or explain(fetched.status)}",
            now=datetime.now(UTC),
            pause_seconds=_pause(before),
            patience_seconds=patience(self.clock.politeness.host_patience_seconds, was_heard=False),
        )
        self.is_kept = False

    def recover_origin(self, origin: str) -> None:
        """The origin lets itself be fetched from."""
        if self.origins.pop(origin, None):
            self.is_kept = False

    def seconds_to_wait(self, origin: str) -> float:
        """Until the origin may be asked again; 0: at once."""
        outage = self.origins.get(origin)
        return max(0.0, (outage.retry_at - datetime.now(UTC)).total_seconds()) if outage else 0.0

    @property
    def lacks_robots(self) -> bool:
        """Whether it waits until its robots.txt can be had, though an older one may be kept."""
        return bool(self.outage and self.outage.status == FetchStatus.ROBOTS_UNAVAILABLE)

    @property
    def _patience(self) -> float:
        seconds = self.clock.politeness.host_patience_seconds
        if self.is_checked:
            return min(seconds, CHECK_PATIENCE_SECONDS)
        return patience(seconds, was_heard=self.was_heard)

    def _note_outage(self, fetched: Fetched, pause_seconds: float) -> None:
        now, error = datetime.now(UTC), fetched.error or explain(fetched.status)
        self.outage = outage_after(
            self.outage,
            fetched.status,
            error,
            now=now,
            pause_seconds=pause_seconds,
            patience_seconds=self._patience,
        )
        self.is_kept = False
        if self.outage.gives_up_at <= now:
            self._give_up(fetched.status)

    def _give_up(self, status: int) -> None:
        assert self.outage is not None
        self.given_up = Fetched(status, error=self.outage.last_words)
        self.clock.skip()


def _pause(before: Outage | None) -> float:
    """Seconds of the pause after one more try that failed."""
    tries = before.tries + 1 if before else 1
    return pause_after(tries, random.random())  # noqa: S311  # no secret
