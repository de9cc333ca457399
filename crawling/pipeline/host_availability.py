"""Whether a host lets itself be fetched from, how long to wait until it does, and when it is given
up.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from crawling.pipeline.host_clock import HostClock
from crawling.web.fetch.http import Fetched
from crawling.web.outages import Outage, outage_after, patience, pause_after
from crawling.web.politeness import JITTER
from crawling.web.statuses import FetchStatus, explain


@dataclass
class HostAvailability:
    """Of one visit's host."""

    clock: HostClock
    #: the host has answered at some time
    was_heard: bool = False
    #: it lets nothing be fetched
    outage: Outage | None = None
    #: the host's row says so, too
    is_kept: bool = True
    #: why all URLs of the host fail
    given_up: Fetched | None = None

    def suspend(self, fetched: Fetched) -> None:
        """The host lets nothing be fetched: wait with all of its URLs for as long as the outage
        says, or give it up.
        """
        tries = self.outage.tries + 1 if self.outage else 1
        self._note_outage(fetched, pause_after(tries, random.random()))  # noqa: S311  # no secret
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

    @property
    def lacks_robots(self) -> bool:
        """Whether it waits until its robots.txt can be had, though an older one may be kept."""
        return bool(self.outage and self.outage.status == FetchStatus.ROBOTS_UNAVAILABLE)

    @property
    def _patience(self) -> float:
        return patience(self.clock.politeness.host_patience_seconds, was_heard=self.was_heard)

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
