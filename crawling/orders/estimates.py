"""What an order will ask of each host at most, in sentences, before anything is fetched."""

from __future__ import annotations

from math import ceil, floor

from crawling.orders.order import CrawlOrder
from crawling.scope.scope import Reach
from crawling.web.addresses import read_address

MINUTE, HOUR, DAY = 60, 3600, 86_400


def estimate(order: CrawlOrder) -> list[str]:
    """How often a host is asked, how many pages each may give, and how long that takes at least."""
    hosts = len({read_address(seed).host_key for seed in order.seeds})
    return [_pace(order), _share(order, hosts)]


def _pace(order: CrawlOrder) -> str:
    minute, day = (_most(span, order.delay_seconds, limit) for span, limit in _budgets(order))
    if minute is None or day is None:
        return (
            "A host is asked as fast as it answers, one request at a time; a site whose "
            "robots.txt wants a rest gets it."
        )
    return (
        f"A host gets at most {minute:,} requests a minute and {day:,} a day; fewer where it is "
        "slow or its robots.txt asks for more rest."
    )


def _budgets(order: CrawlOrder) -> tuple[tuple[int, int | None], tuple[int, int | None]]:
    a_minute, a_day = order.host_requests_a_minute, order.host_requests_a_day
    by_minutes = None if a_minute is None else a_minute * DAY // MINUTE
    return (MINUTE, a_minute), (DAY, min(filter(None, (a_day, by_minutes)), default=None))


def _most(span: int, delay: float, limit: int | None) -> int | None:
    """Requests within so many seconds; None: nothing bounds them."""
    by_delay = floor(span / delay) if delay else None
    bounds = [bound for bound in (by_delay, limit) if bound is not None]
    return max(1, min(bounds)) if bounds else None


def _share(order: CrawlOrder, hosts: int) -> str:
    known = f"{hosts:,} host{'s' * (hosts != 1)}"
    grows = order.scope in (Reach.DOMAIN, Reach.ANYWHERE) or order.off_site_hops > 0
    if order.max_pages is None and order.host_max_pages is None:
        return (
            f"It begins with {known}. No limit on pages is set: it ends when it knows no more "
            "addresses."
        )
    each = min(
        filter(
            None, (order.host_max_pages, ceil(order.max_pages / hosts) if order.max_pages else None)
        )
    )
    takes = (
        f", which takes at least {_long(each * order.delay_seconds)}" if order.delay_seconds else ""
    )
    if grows:
        return (
            f"Were it to find only the {known} that it begins with, each would get about "
            f"{each:,} requests{takes}; with more hosts, fewer."
        )
    return f"On {known} each gets about {each:,} requests{takes}."


def _long(seconds: float) -> str:
    for size, name in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}s"
    return f"{ceil(seconds):,} s"
