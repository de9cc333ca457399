"""The time for which a host must be left alone, and the time of the next try after a failed
fetch.
"""

from __future__ import annotations

from datetime import datetime

from crawling.web.http_caching import read_date
from crawling.web.statuses import THROTTLES, FetchStatus, may_be_host_fault

#: a longer Crawl-delay counts as this; Heritrix has the same limit
MAX_CRAWL_DELAY_SECONDS = 300.0
#: the longest delay of a slow host, which is left alone for longer than others (again Heritrix'
#: limit)
MAX_ADAPTIVE_SECONDS = 30.0
#: the most requests in total for a URL whose answer may soon change (SEEDS B1's retry handler)
MAX_ATTEMPTS = 3
FIRST_RETRY_SECONDS = 5.0
#: the host's rest after one URL with such an answer, or with none
FIRST_REST_SECONDS = 5.0
#: status -> the first and the longest rest of a host that is itself at fault
BACKOFFS = {
    429: (30.0, 3600.0),
    503: (30.0, 3600.0),
    int(FetchStatus.TIMED_OUT): (5.0, 60.0),
    int(FetchStatus.TOO_SLOW): (5.0, 60.0),
    int(FetchStatus.BROKEN_ANSWER): (5.0, 60.0),
}
#: the longest Retry-After that is obeyed
MAX_RETRY_AFTER_SECONDS = 24 * 3600.0
#: the longest Retry-After that is obeyed while only one URL has failed: 429 is about the client
#: (RFC 6585, section 4), any other status may be about that page alone
WISHES_OF_ONE_SECONDS = {429: 300.0}
LEAST_WISH_SECONDS = 10.0
#: the longest wait of a URL for its own next try
LONGEST_RETRY_SECONDS = 3600.0
#: the number of failed URLs in a row that may be their host's fault
DOUBTFUL_ROW = 3
#: the first and the longest rest of a doubtful host after its known page also failed
FIRST_DOUBT_SECONDS, LONGEST_DOUBT_SECONDS = 5.0, 3600.0
#: waits are extended by up to this part, so that crawls that were turned away together do not
#: return together
JITTER = 0.1


def delay_seconds_after(
    *, configured: float, crawl_delay: float | None, last_fetch: float = 0.0, factor: float = 0.0
) -> float:
    """Seconds from the end of a fetch to the start of the next one on the same host."""
    adaptive = min(factor * last_fetch, MAX_ADAPTIVE_SECONDS) if configured else 0.0
    return max(configured, min(crawl_delay or 0.0, MAX_CRAWL_DELAY_SECONDS), adaptive)


def page_rest_seconds(
    status: int, *, asked: float | None, chance: float, is_trusted: bool = False
) -> float:
    """Seconds for which a host rests after one of its pages failed, perhaps by the page's own
    fault; 0 for an answer that is no sign of overload.

    asked: its Retry-After in seconds. chance: a random number below 1. is_trusted: whether other
    pages could be fetched while several failed.
    """
    if not may_be_host_fault(status) or (is_trusted and status not in WISHES_OF_ONE_SECONDS):
        return 0.0
    if asked is not None:
        wait = min(asked, WISHES_OF_ONE_SECONDS.get(status, LEAST_WISH_SECONDS))
    elif is_trusted:
        wait = 0.0
    else:
        is_host_meant = status in THROTTLES or status == FetchStatus.TIMED_OUT
        wait = FIRST_REST_SECONDS if is_host_meant else 0.0
    return wait * (1 + JITTER * chance)


def backoff_seconds_after(
    status: int, *, asked: float | None, in_a_row: int, chance: float
) -> float:
    """Seconds for which a host rests if it is overloaded or refuses the crawler; 0 for every other
    answer.

    asked: its Retry-After in seconds. in_a_row: the number of URLs in a row with such an answer.
    chance: a random number below 1.
    """
    if not may_be_host_fault(status):
        return 0.0
    if asked is not None:
        wait = min(asked, MAX_RETRY_AFTER_SECONDS)
    elif status in BACKOFFS:
        first, most = BACKOFFS[status]
        wait = min(first * 2.0 ** min(max(in_a_row - 2, 0), 30), most)
    else:
        wait = 0.0
    return wait * (1 + JITTER * chance)


def doubt_pause_seconds(tries: int, chance: float) -> float:
    """Seconds until a doubtful host is tried again, after `tries` failed tries."""
    wait = FIRST_DOUBT_SECONDS * 2.0 ** min(tries - 1, 30)
    return float(min(wait, LONGEST_DOUBT_SECONDS) * (1 + JITTER * chance))


def read_retry_after(text: str, now: datetime, *, answered: str = "") -> float | None:
    """The seconds in a Retry-After header, which has a number or a date (RFC 9110, section 10.2.3);
    None for anything else.

    answered: the answer's own Date, since the header uses the same clock; without it our clock
    counts.
    """
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) <= 10:
        return float(text)
    date = read_date(text)
    if date is None:
        return None
    return max(0.0, (date - (read_date(answered.strip()) or now)).total_seconds())


def retry_seconds_after(attempts: int, asked: float | None = None) -> float | None:
    """Seconds until the URL may be tried again after `attempts` tries; None after the last try.

    asked: the answer's Retry-After in seconds.
    """
    if attempts >= MAX_ATTEMPTS:
        return None
    wait = float(FIRST_RETRY_SECONDS * 2 ** (attempts - 1))
    return max(wait, min(asked or 0.0, LONGEST_RETRY_SECONDS))


#: while others wait for a fetch thread, the largest part of the threads' time that a host gets
LARGEST_SHARE = 1 / 40
#: a host that needs a fetch thread for no longer than this gets no penalty, since hosts take turns
#: anyway
SHORT_SECONDS = 2.0


def penalty_seconds(held: float, threads: int) -> float:
    """The penalty of a host that has kept one of `threads` fetch threads for `held` seconds."""
    if held <= SHORT_SECONDS:
        return 0.0
    return held * max(0.0, 1 / (LARGEST_SHARE * max(1, threads)) - 1)
