"""How long a host must be left alone, and when a failed fetch is tried again."""

from __future__ import annotations

#: a site that asks for more than this is taken at this word; Heritrix draws the same line
MAX_CRAWL_DELAY_SECONDS = 300.0
#: an answer that may be different in a moment is asked for this many times in all (SEEDS B1's retry handler)
MAX_ATTEMPTS = 3
FIRST_RETRY_SECONDS = 5.0
#: robots.txt is asked for once a minute at most while it cannot be had
FIRST_ROBOTS_RETRY_SECONDS = 60.0


def delay_after(*, configured: float, crawl_delay: float | None) -> float:
    """Seconds from the end of a fetch to the start of the next one on the same host."""
    return max(configured, min(crawl_delay or 0.0, MAX_CRAWL_DELAY_SECONDS))


def retry_after(attempts: int, *, of_robots: bool = False) -> float | None:
    """Seconds until the URL may be tried again after `attempts` tries; None when it has had enough."""
    if attempts >= MAX_ATTEMPTS:
        return None
    first = FIRST_ROBOTS_RETRY_SECONDS if of_robots else FIRST_RETRY_SECONDS
    return float(first * 2 ** (attempts - 1))
