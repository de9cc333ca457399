"""One leased host, as toes are handed it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from crawling.archive.earlier import Earlier
from crawling.frontier.claiming import ClaimedUrl, LeasedHost
from crawling.rules.politeness import delay_after
from crawling.rules.robots import Robots
from dnscache.resolver import Resolution


@dataclass(eq=False)
class Visit:
    """One leased host: what toes need to fetch from it. It has a resolution before it reaches the workbench.

    configured_delay is written by the shift alone, which follows the crawl's order, and asked_delay (robots.txt's) by the toe
    that has the visit: neither can undo what the other wrote.
    mapped: the origins whose sitemaps were handed on as links.
    earlier: what an earlier run has of URLs, by their ids. answered: the URL that was last asked for once more, with credentials.
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

    @property
    def delay(self) -> float:
        """Seconds from the end of a fetch to the next; of two origins on a host the longer delay counts."""
        return delay_after(configured=self.configured_delay, crawl_delay=self.asked_delay)
