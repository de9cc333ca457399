"""How long a host must be left alone, and when a failed fetch is tried again."""

from __future__ import annotations

from datetime import datetime

from crawling.web.http_caching import read_date
from crawling.web.statuses import FetchStatus

#: a site that asks for more than this is taken at this word; Heritrix draws the same line
MAX_CRAWL_DELAY_SECONDS = 300.0
#: a host that is slow is left alone for longer, but not for more than this (Heritrix' line again)
MAX_ADAPTIVE_SECONDS = 30.0
#: an answer that may be different in a moment is asked for this many times in all (SEEDS B1's retry
#: handler)
MAX_ATTEMPTS = 3
FIRST_RETRY_SECONDS = 5.0
#: status -> how long the whole host rests after it, and at most after several in a row
BACKOFFS = {429: (30.0, 3600.0), 503: (30.0, 3600.0), int(FetchStatus.TIMED_OUT): (5.0, 60.0)}
#: a Retry-After is obeyed so far
MAX_RETRY_AFTER_SECONDS = 24 * 3600.0
#: waits are drawn out by up to this part, so that those who were sent away together do not come
#: back together
JITTER = 0.1


def delay_after(
    *, configured: float, crawl_delay: float | None, last_fetch: float = 0.0, factor: float = 0.0
) -> float:
    """Seconds from the end of a fetch to the start of the next one on the same host."""
    adaptive = min(factor * last_fetch, MAX_ADAPTIVE_SECONDS) if configured else 0.0
    return max(configured, min(crawl_delay or 0.0, MAX_CRAWL_DELAY_SECONDS), adaptive)


def backoff_after(status: int, *, asked: float | None, in_a_row: int, chance: float) -> float:
    """Seconds that a host is left alone which has too much to do; 0 for every other answer.

    asked: its Retry-After in seconds. in_a_row: how many such answers it gave, this one included.
    chance: a random number below 1.
    """
    if status not in BACKOFFS:
        return 0.0
    first, most = BACKOFFS[status]
    wait = min(first * 2.0 ** min(in_a_row - 1, 30), most)
    if asked is not None:
        wait = min(asked, MAX_RETRY_AFTER_SECONDS)
    return wait * (1 + JITTER * chance)


def read_retry_after(text: str, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or as a date (RFC 9110, section
    10.2.3); None for anything else.
    """
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) <= 10:
        return float(text)
    date = read_date(text)
    return max(0.0, (date - now).total_seconds()) if date else None


def retry_after(attempts: int) -> float | None:
    """Seconds until the URL may be tried again after `attempts` tries; None when it has had
    enough."""
    if attempts >= MAX_ATTEMPTS:
        return None
    return float(FIRST_RETRY_SECONDS * 2 ** (attempts - 1))


#: where others wait for a fetch thread, no host has more of them than this part of their time
LARGEST_SHARE = 1 / 40
#: a host that needs a fetch thread for no longer than this gets no penalty: hosts take turns anyway
SHORT_SECONDS = 2.0


def penalty_seconds(held: float, threads: int) -> float:
    """The penalty of a host that has kept one of so many fetch threads for so long."""
    if held <= SHORT_SECONDS:
        return 0.0
    return held * max(0.0, 1 / (LARGEST_SHARE * max(1, threads)) - 1)
