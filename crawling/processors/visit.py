"""One leased host, as toes are handed it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from crawling.frontier.claiming import ClaimedUrl, LeasedHost
from crawling.rules.robots import Robots
from dnscache.resolver import Resolution


@dataclass(eq=False)
class Visit:
    """One leased host: what toes need to fetch from it. It has a resolution before it reaches the workbench."""

    host: LeasedHost
    resolution: Resolution | None
    free_at: float
    leased_at: float
    delay: float
    robots: dict[str, Robots] = field(default_factory=dict)
    urls: deque[ClaimedUrl] = field(default_factory=deque)
