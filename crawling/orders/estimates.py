"""An estimate for an order before anything is fetched: requests for each host, and time."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from crawling.orders.order import CrawlOrder
from crawling.orders.scope.scope import Reach
from crawling.web.addresses import read_address

MINUTE, HOUR, DAY = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: str
    #: a description of the number, or the reason why there is none
    note: str


def order_figures(order: CrawlOrder) -> list[Figure]:
    """The parts of an estimate that follow from the order alone."""
    return [_request_figure(order), _duration_figure(order)]


def _request_figure(order: CrawlOrder) -> Figure:
    minute, _ = (
        _request_limit(span, order.delay_seconds, limit) for span, limit in _request_budgets(order)
    )
    if minute is None:
        return Figure("Requests per minute", "–", "no delay: as fast as a host answers")
    return Figure("Requests per minute", f"{minute:,}", "per host, at most")


def _duration_figure(order: CrawlOrder) -> Figure:
    hosts = seed_hosts(order)
    each = pages_of_a_host(order, hosts)
    if each is None:
        return Figure("Minimum duration", "–", "no page limit")
    if not order.delay_seconds:
        return Figure("Minimum duration", "–", "no delay")
    known = f"{hosts:,} host{'s' * (hosts != 1)}"
    note = f"{each:,} pages on {'each of ' if hosts > 1 else ''}{known}"
    return Figure("Minimum duration", time_in_words(each * order.delay_seconds), note)


def estimate_sentences(order: CrawlOrder) -> list[str]:
    """The estimate in sentences: how often a host is asked, how many pages each host may give, and
    the least time that this takes.
    """
    hosts = seed_hosts(order)
    return [_pace_in_words(order), _pages_per_host_in_words(order, hosts)]


def _pace_in_words(order: CrawlOrder) -> str:
    minute, day = (
        _request_limit(span, order.delay_seconds, limit) for span, limit in _request_budgets(order)
    )
    if minute is None or day is None:
        return (
            "A host gets one request at a time, as fast as it answers; its robots.txt may "
            "require a delay."
        )
    return (
        f"A host gets at most {minute:,} requests a minute and {day:,} a day; fewer if it is "
        "slow or its robots.txt requires a longer delay."
    )


def _request_budgets(order: CrawlOrder) -> tuple[tuple[int, int | None], tuple[int, int | None]]:
    a_minute, a_day = order.host_requests_a_minute, order.host_requests_a_day
    by_minutes = None if a_minute is None else a_minute * DAY // MINUTE
    return (MINUTE, a_minute), (DAY, min(filter(None, (a_day, by_minutes)), default=None))


def _request_limit(span: int, delay: float, limit: int | None) -> int | None:
    """The most requests within `span` seconds; None if there is no limit."""
    by_delay = floor(span / delay) if delay else None
    bounds = [bound for bound in (by_delay, limit) if bound is not None]
    return max(1, min(bounds)) if bounds else None


def _pages_per_host_in_words(order: CrawlOrder, hosts: int) -> str:
    known = f"{hosts:,} host{'s' * (hosts != 1)}"
    leaves = order.off_site_hops > 0 or order.check_external
    grows = order.scope in (Reach.DOMAIN, Reach.ANYWHERE) or leaves
    each = pages_of_a_host(order, hosts)
    if each is None:
        return (
            f"It starts with {known}. There is no page limit: the crawl ends when no URL is left."
        )
    takes = (
        f", which takes at least {time_in_words(each * order.delay_seconds)}"
        if order.delay_seconds
        else ""
    )
    if grows:
        return (
            f"With only the {known} of the start URLs, each gets about {each:,} requests{takes}; "
            "with more hosts, fewer."
        )
    return f"On {known} each gets about {each:,} requests{takes}."


def seed_hosts(order: CrawlOrder) -> int:
    """The number of hosts of the start URLs."""
    return len({read_address(seed).host_key for seed in order.seeds})


def pages_of_a_host(order: CrawlOrder, hosts: int) -> int | None:
    """The most pages of a host; None if there is no limit."""
    share = ceil(order.max_pages / hosts) if order.max_pages else None
    return min(filter(None, (order.host_max_pages, share)), default=None)


def time_in_words(seconds: float) -> str:
    """`2 hours`, `90 minutes`, `14 s`."""
    for size, name in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}s"
    return f"{ceil(seconds):,} s"
