"""One leased host, as fetch threads see it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime

from crawling.archive.earlier_answers import EarlierAnswer
from crawling.fetching.pipeline.host_clock import HostAvailability, HostClock, RequestBudget
from crawling.frontier import ClaimedUrl, LeasedHost
from crawling.orders.sections.politeness import PolitenessPart
from crawling.web.addresses import canonical_address
from crawling.web.fetch.http import Fetched
from crawling.web.politeness import penalty_seconds
from crawling.web.robots import RobotsRules
from dnscache.protocol.addresses import plain_address
from dnscache.resolver import Resolution


@dataclass
class HostRoute:
    """The way to a host. It has a resolution whenever its visit is on the workbench."""

    resolution: Resolution | None = None
    resolved_until: float = 0.0
    #: addresses that did not accept a connection
    unreachable: set[str] = field(default_factory=set)
    #: the address for whose turn the visit waits, or ""
    turn: str = ""
    #: the earliest end of the host's certificates; None if its queue knows all that were seen
    certificate_ends_at: datetime | None = None

    def is_current(self, now: float) -> bool:
        """Whether the addresses are still valid."""
        return self.resolution is not None and now < self.resolved_until

    def resolve(self, resolution: Resolution) -> None:
        """Use these addresses for as long as they are valid; with TTL 0, until the URLs in hand are
        fetched.
        """
        self.resolution, self.resolved_until = resolution, time.monotonic() + resolution.ttl

    def demote(self, address: str) -> bool:
        """Prefer the host's other addresses to this one. Return whether to try another at once,
        which is done once for each address.
        """
        assert self.resolution is not None
        is_new = address not in self.unreachable
        self.unreachable.add(address)
        addresses = sorted(
            self.resolution.addresses, key=lambda other: plain_address(other) in self.unreachable
        )
        self.resolution = replace(self.resolution, addresses=tuple(addresses))
        return is_new and plain_address(addresses[0]) not in self.unreachable


@dataclass
class HostRobots:
    """The robots.txt files of a host's origins, and the way to one that is being fetched."""

    by_origin: dict[str, RobotsRules] = field(default_factory=dict)
    #: by origin, the status and body of files that hold only while no newer ones can be fetched
    outdated: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    #: origins whose sitemaps were handed on as links
    mapped: set[str] = field(default_factory=set)
    #: the answers of redirects that have not yet led to a file, by URL
    hops: dict[str, Fetched] = field(default_factory=dict)
    #: how often the host of a redirect could not be leased
    tries: int = 0

    def lacks(self, origin: str) -> bool:
        """Whether the origin's robots.txt could not be fetched."""
        rules = self.by_origin.get(origin)
        return bool(rules and rules.unavailable)

    @property
    def has_any(self) -> bool:
        return any(not rules.unavailable for rules in self.by_origin.values())


@dataclass
class RepeatRequests:
    """URLs that are requested more than once within a visit."""

    #: the URL that last set a cookie and redirected to itself, and how often
    sent_back: tuple[int, int] = (0, 0)
    #: the status of the latest request of a login
    login_status: int = 0


@dataclass(eq=False)
class Visit:
    """The state with which fetch threads fetch from one leased host. One thread has it at a
    time.
    """

    host: LeasedHost
    leased_at: float
    clock: HostClock
    availability: HostAvailability
    urls: deque[ClaimedUrl] = field(default_factory=deque)
    route: HostRoute = field(default_factory=HostRoute)
    robots: HostRobots = field(default_factory=HostRobots)
    repeats: RepeatRequests = field(default_factory=RepeatRequests)
    #: the answers of an earlier run, by the ids of their URLs
    earlier: dict[int, EarlierAnswer] = field(default_factory=dict)
    #: until this time, hosts that wait for a thread go first
    penalty_until: float = 0.0
    #: the number of the host's documents that threads are reading; the workbench counts
    unread: int = 0

    @classmethod
    def of(
        cls,
        host: LeasedHost,
        *,
        delay_seconds: float = 0.0,
        politeness: PolitenessPart | None = None,
        penalty_until: float = 0.0,
    ) -> Visit:
        """Begin a visit to a host that was leased just now."""
        now = time.monotonic()
        politeness, budget = politeness or PolitenessPart(), RequestBudget(host.spent)
        budget.keep(politeness)
        clock = HostClock(
            now + host.wait_seconds,
            delay_seconds,
            politeness,
            backoffs=host.backoffs,
            budget=budget,
        )
        availability = HostAvailability(
            clock,
            has_answered=host.has_answered,
            outage=host.outage,
            origins=dict(host.origin_outages),
        )
        return cls(host, now, clock, availability, penalty_until=penalty_until)

    def turn_to_others(self) -> bool:
        """Move a URL whose origin may answer to the front. Return whether there is one."""
        for place, claimed in enumerate(tuple(self.urls)):
            if not self.robots.lacks(canonical_address(claimed.url).origin):
                self.urls.rotate(-place)
                return True
        return False

    def penalise(self, held_seconds: float, *, threads: int) -> None:
        """Let other visits go first for a fair time, because this visit or one of its documents has
        kept a fetch thread for `held_seconds`.
        """
        self.penalty_until = max(
            self.penalty_until, time.monotonic() + penalty_seconds(held_seconds, threads)
        )

    def rest(self, fetched: Fetched, *, page: ClaimedUrl | None = None) -> None:
        """Leave the host alone for its delay after a fetch, or for longer if the host may be
        overloaded. page: the fetched URL; None if the fetch was not for a page.
        """
        if ends_at := fetched.certificate_ends_at:
            self.route.certificate_ends_at = min(ends_at, self.route.certificate_ends_at or ends_at)
        self.clock.rest(
            fetched.http_status or fetched.status,
            fetched.seconds,
            asked=fetched.retry_after,
            is_page=page is not None,
            is_first_try=page is not None and page.attempts == 1,
        )
