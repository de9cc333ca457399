"""One step of one visit: the stages in order."""

from __future__ import annotations

import time

from crawling.fetchers.http import Fetched
from crawling.frontier.recording import Outcome
from crawling.processors.conclude import conclude
from crawling.processors.kit import Kit
from crawling.processors.prefetch import address_to_dial, learn_robots, refusal_by_robots
from crawling.processors.visit import Visit
from crawling.rules.addresses import Address, read_address
from crawling.rules.robots import Robots
from crawling.rules.statuses import FetchStatus


def step(visit: Visit, kit: Kit) -> Outcome | None:
    """Try the visit's next URL; None: robots.txt had to be fetched first and nothing is settled yet.

    The visit is free again one delay after the end of whatever was fetched (never counted from its start: a slow server
    must not be asked sooner). What needs no fetch costs no delay.
    """
    assert visit.resolution is not None
    claimed = visit.urls[0]
    address = read_address(claimed.url)
    dial, refusal = address_to_dial(visit.resolution, address.port, kit)
    if address.host_key in kit.blocked:
        refusal = Fetched(FetchStatus.HOST_BLOCKED, error=FetchStatus.HOST_BLOCKED.sentence)
    robots = visit.robots.get(address.origin)
    if robots is None and refusal is None:
        learn_robots(visit, address, dial, kit)
        return None
    visit.urls.popleft()
    if robots is not None:
        refusal = refusal or refusal_by_robots(robots, address)
    if refusal:
        return conclude(claimed, address, dial, refusal, kit)
    fetched = kit.get(address, dial, keep=kit.archives)
    visit.free_at = time.monotonic() + visit.delay
    outcome = None
    try:
        outcome = conclude(claimed, address, dial, fetched, kit, sitemaps=_sitemaps(visit, address, robots))
        if outcome.answer:
            visit.mapped.add(address.origin)
        return outcome
    finally:
        if fetched.exchange and not (outcome and outcome.parcel):
            fetched.exchange.close()


def _sitemaps(visit: Visit, address: Address, robots: Robots | None) -> list[str]:
    """Sitemaps go with the first page of their origin: links need a page that they were found on."""
    return robots.sitemaps if robots and address.origin not in visit.mapped else []
