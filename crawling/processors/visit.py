"""One leased host, as toes are handed it."""

from __future__ import annotations

import random
import time
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from crawling.archive.earlier import Earlier
from crawling.fetchers.http import Fetched
from crawling.frontier.claiming import ClaimedUrl, LeasedHost
from crawling.rules.budgets import NOTHING_SPENT, Spent
from crawling.rules.outages import Outage, outage_after, patience, pause_after
from crawling.rules.politeness import BACKOFFS, JITTER, backoff_after, delay_after, read_retry_after
from crawling.rules.robots import Robots
from crawling.rules.sections.politeness import Politeness
from crawling.rules.sharing import seconds_aside
from crawling.rules.statuses import explain
from dnscache.addresses import dialled
from dnscache.resolver import Resolution


@dataclass(eq=False)
class Visit:
    """One leased host: what toes need to fetch from it. It has a resolution whenever it is on the workbench.

    configured_delay and politeness are written by the shift alone, which follows the crawl's order, and asked_delay (robots.txt's)
    by the toe that has the visit: neither can undo what the other wrote.
    mapped: the origins whose sitemaps were handed on as links.
    earlier: what an earlier run has of URLs, by their ids. answered: the URL that was last asked for once more, with credentials.
    sent_back: the URL that last set a cookie and sent back to itself, and how often.
    login_status: what the latest request of a login was answered.
    backoffs: answers in a row by which the host said that it has too much to do.
    spent: requests that the host has had; is_counted says whether its row knows of all.
    host_free_at: as free_at, but for the budget, which binds this crawl alone.
    hops: what was answered on the way to a robots.txt that is not at its end yet; tries: how often a host on it was not to be had.
    turn: the address at which the visit has a turn that it waits for, or "".
    unreachable: addresses of the host that did not accept a connection.
    aside_until: until then hosts that wait for a toe go first.
    unread: documents of the host that toes are reading; the workbench counts.
    old_robots: by origin, status and body of robots.txt files that hold on only while no newer ones can be had.
    was_heard: the host has answered at some time. outage: it lets nothing be fetched, until outage_ends at the earliest; is_outage_kept:
        its row says so, too. given_up: why all URLs of the host fail.
    """

    host: LeasedHost
    resolution: Resolution | None
    free_at: float
    leased_at: float
    configured_delay: float
    robots: dict[str, Robots] = field(default_factory=dict)
    urls: deque[ClaimedUrl] = field(default_factory=deque)
    asked_delay: float = 0.0
    mapped: set[str] = field(default_factory=set)
    earlier: dict[int, Earlier] = field(default_factory=dict)
    answered: int = 0
    sent_back: tuple[int, int] = (0, 0)
    login_status: int = 0
    politeness: Politeness = field(default_factory=Politeness)
    last_fetch_seconds: float = 0.0
    backoffs: int = 0
    spent: Spent = NOTHING_SPENT
    is_counted: bool = True
    host_free_at: float = 0.0
    resolved_until: float = 0.0
    hops: dict[str, Fetched] = field(default_factory=dict)
    tries: int = 0
    turn: str = ""
    unreachable: set[str] = field(default_factory=set)
    aside_until: float = 0.0
    unread: int = 0
    old_robots: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    was_heard: bool = False
    outage: Outage | None = None
    outage_ends: float = 0.0
    is_outage_kept: bool = True
    given_up: Fetched | None = None

    def resolve(self, resolution: Resolution) -> None:
        """Go by these addresses for as long as they hold; what never holds (TTL 0) is good until the URLs in hand are fetched."""
        self.resolution, self.resolved_until = resolution, time.monotonic() + resolution.ttl

    def demote(self, address: str) -> bool:
        """Prefer the host's other addresses to this one; whether to go on at once with another, which is so once for each."""
        assert self.resolution is not None
        is_new = address not in self.unreachable
        self.unreachable.add(address)
        addresses = sorted(self.resolution.addresses, key=lambda other: dialled(other) in self.unreachable)
        self.resolution = replace(self.resolution, addresses=tuple(addresses))
        return is_new and dialled(addresses[0]) not in self.unreachable

    @property
    def delay(self) -> float:
        """Seconds from the end of a fetch to the next; of two origins on a host the longer delay counts."""
        return delay_after(
            configured=self.configured_delay,
            crawl_delay=self.asked_delay,
            last_fetch=self.last_fetch_seconds,
            factor=self.politeness.delay_factor,
        )

    def rest(self, fetched: Fetched) -> None:
        """A fetch has just ended: leave the host alone for its delay, or for longer where it says that it has too much to do."""
        self.last_fetch_seconds = fetched.seconds
        if fetched.status in BACKOFFS:
            self.backoffs += 1
        elif fetched.status > 0:
            self.backoffs = 0
        now = datetime.now(UTC)
        asked = read_retry_after(fetched.headers.get("Retry-After", ""), now)
        backoff = backoff_after(fetched.status, asked=asked, in_a_row=self.backoffs, chance=random.random())  # noqa: S311  # no secret
        self.spent, self.is_counted = self.spent.plus_one(now), False
        self.host_free_at = time.monotonic() + max(self.delay, backoff)
        self.keep_budget()

    def rest_for_delay(self) -> None:
        """Leave the host alone for its delay from now on, at least."""
        self.host_free_at = max(self.host_free_at, time.monotonic() + self.delay)
        self.keep_budget()

    def stand_aside(self, held_seconds: float, *, toes: int) -> None:
        """The visit, or one of its documents, has kept one of the toes for so long: let others go first for as long as is fair."""
        self.aside_until = max(self.aside_until, time.monotonic() + seconds_aside(held_seconds, toes))

    def come_back_in(self, seconds: float) -> None:
        """Wait so long at least, for something that is not the host's doing."""
        self.free_at = max(self.free_at, time.monotonic() + seconds)

    def suspend(self, fetched: Fetched) -> None:
        """The host lets nothing be fetched: wait with all of its URLs for as long as the outage says, or give it up."""
        tries = self.outage.tries + 1 if self.outage else 1
        self._note_outage(fetched, pause_after(tries, random.random()))  # noqa: S311  # no secret
        if self.outage and not self.given_up:
            left = (self.outage.retry_at - datetime.now(UTC)).total_seconds()
            self.outage_ends = time.monotonic() + left
            self.keep_budget()

    def note_throttling(self, fetched: Fetched) -> None:
        """The host wishes to be left alone, and is.

        Should it wish so for longer than the crawl waits, it is given up: at once, if it says so.
        """
        rest = self.host_free_at - time.monotonic()
        self._note_outage(fetched, rest)
        most = patience(self.politeness.host_patience_seconds, was_heard=self.was_heard)
        if rest > most * (1 + JITTER):
            self._give_up(fetched.status)

    def _note_outage(self, fetched: Fetched, pause_seconds: float) -> None:
        now, error = datetime.now(UTC), fetched.error or explain(fetched.status)
        most = patience(self.politeness.host_patience_seconds, was_heard=self.was_heard)
        self.outage = outage_after(self.outage, fetched.status, error, now=now, pause_seconds=pause_seconds, patience_seconds=most)
        self.is_outage_kept = False
        if self.outage.gives_up_at <= now:
            self._give_up(fetched.status)

    def _give_up(self, status: int) -> None:
        assert self.outage is not None
        self.given_up = Fetched(status, error=self.outage.last_words)
        # Nobody is asked any more: its URLs need not wait for the host's clock.
        self.outage_ends, self.free_at = 0.0, time.monotonic()

    def recover(self) -> None:
        """The host has answered."""
        self.was_heard = True
        if self.outage:
            self.outage, self.is_outage_kept, self.outage_ends = None, False, 0.0

    def keep_budget(self) -> None:
        """Wait for the host, and for the next minute or day where the crawl's budget for it is spent."""
        wait = self.spent.seconds_to_wait(self.politeness, datetime.now(UTC))
        self.free_at = max(self.host_free_at, time.monotonic() + wait) if wait else self.host_free_at
        self.free_at = max(self.free_at, self.outage_ends)
