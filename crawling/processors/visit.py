"""One leased host, as toes are handed it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from crawling.frontier.claiming import ClaimedUrl, LeasedHost
from crawling.rules.politeness import delay_after
from crawling.rules.robots import Robots
from dnscache.resolver import Resolution


@dataclass(eq=False)
class Visit:
    """One leased host: what toes need to fetch from it. It has a resolution whenever it is on the workbench.

    configured_delay is written by the shift alone, which follows the crawl's order, and asked_delay (robots.txt's) by the toe
    that has the visit: neither can undo what the other wrote.
    mapped: the origins whose sitemaps were handed on as links.
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
    resolved_until: float = 0.0

    def resolve(self, resolution: Resolution) -> None:
        """Go by these addresses for as long as they hold; what never holds (TTL 0) is good until the URLs in hand are fetched."""
        self.resolution, self.resolved_until = resolution, time.monotonic() + resolution.ttl

    @property
    def delay(self) -> float:
        """Seconds from the end of a fetch to the next; of two origins on a host the longer delay counts."""
        return delay_after(configured=self.configured_delay, crawl_delay=self.asked_delay)
