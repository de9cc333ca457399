"""The questions before a fetch: may this URL be fetched at all, from which address, is it the
host's turn at that address, and what does robots.txt say?
"""

from __future__ import annotations

import random
from functools import partial

from crawling.fetching.pipeline.client import no_protocol
from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier import ClaimedUrl
from crawling.frontier.address_clock import AddressTurn, take_turn
from crawling.web.addresses import Address
from crawling.web.fetch.http import Fetched
from crawling.web.protocols import default_port
from crawling.web.robots import RobotsRules
from crawling.web.statuses import FetchStatus, status_sentence
from crawling.web.vetting import DialPolicy
from dnscache.protocol.answers import DnsStatus
from dnscache.resolver import Resolution

THIS_MACHINE = "127.0.0.1"


def refusal_by_rules(
    claimed: ClaimedUrl, address: Address, context: FetchContext
) -> Fetched | None:
    """The reason why the present rules forbid the fetch, if they do.

    No request was made yet.
    """
    ruling = context.links.filters.judge(
        address,
        depth=claimed.depth,
        hops=max(0, claimed.hops - 1),
        is_seed=claimed.depth == 0,
        is_map=claimed.nesting > 0,
    )
    return None if ruling.admits else Fetched(ruling.refusal_status, error=ruling.explanation)


def address_to_dial(
    resolution: Resolution, port: int, dialling: DialPolicy
) -> tuple[str, Fetched | None]:
    """Return the address to connect to, or the reason why there is none."""
    if resolution.status is not DnsStatus.OK:
        status = (
            FetchStatus.NAME_UNANSWERED
            if resolution.status.is_failure
            else FetchStatus.NAME_UNKNOWN
        )
        return "", Fetched(
            status,
            error=f"{status.sentence} ({resolution.name}: {resolution.error or resolution.status})",
        )
    vetted = dialling.vet(resolution.addresses, port)
    if not vetted.permitted:
        status = FetchStatus.ADDRESS_REFUSED
        return "", Fetched(status, error=f"{status.sentence} ({vetted.reason})")
    return vetted.permitted[0], None


def route_to(
    address: Address, resolution: Resolution, context: FetchContext
) -> tuple[str, Fetched | None]:
    """Return the address to connect to, or the reason why there is none. Local files need no
    address.
    """
    if address.scheme == "file":
        return THIS_MACHINE, None
    if default_port(address.scheme) is None:
        return "", no_protocol(address.scheme)
    return address_to_dial(resolution, address.port, context.client.egress.dialling)


def set_robots(visit: Visit, origin: str, robots: RobotsRules) -> None:
    """Apply the rules, with their delay, to this visit."""
    visit.robots.by_origin[origin] = robots
    visit.clock.asked_delay = max(visit.clock.asked_delay, robots.crawl_delay or 0.0)


def lack_robots(visit: Visit, origin: str, robots: RobotsRules) -> bool:
    """Note that the origin's robots.txt cannot be fetched. Return whether only its URLs wait,
    because another origin of the host answers. Otherwise URLs of other origins come first, or the
    host waits with all of its URLs.
    """
    visit.robots.by_origin[origin] = robots
    others_answer = visit.robots.has_any or origin in visit.availability.origins
    if others_answer and not visit.availability.outage:
        return True
    if visit.turn_to_others():
        visit.clock.rest_for_delay()
        return False
    del visit.robots.by_origin[origin]  # requested again at the next try
    visit.availability.suspend(without_robots(robots.unavailable))
    return False


def without_robots(answered: int) -> Fetched:
    """The meaning of this answer to a request for robots.txt, for all URLs of the origin (RFC 9309,
    2.3.1.4).
    """
    status, why = FetchStatus.ROBOTS_UNAVAILABLE, status_sentence(answered)
    told = f"The site's robots.txt could not be had ({why.rstrip('.')})."
    return Fetched(status, error=status.sentence if answered == status else told)


def refusal_by_robots(robots: RobotsRules, address: Address) -> Fetched | None:
    """The reason why robots.txt forbids the fetch, if it does."""
    if robots.unavailable:
        return without_robots(robots.unavailable)
    if not robots.allows(address.document_url):
        return Fetched(FetchStatus.ROBOTS_FORBID, error=FetchStatus.ROBOTS_FORBID.sentence)
    return None


#: if turns could not be read, or all are taken, a random delay of up to this spreads the retries
LATER_SECONDS = 1.0


def acquire_turn(visit: Visit, dial: str, context: FetchContext) -> bool:
    """Whether the visit may send a request to this address now. If not, it comes back when it
    may.
    """
    gap = context.pace.address_gap(dial, visit.clock.configured_delay)
    if not gap or visit.route.turn == dial:
        visit.route.turn = ""
        return True
    turn = context.port.ask(partial(take_turn, dial, gap))
    if turn is None or not turn.is_taken:
        # no secret
        later = LATER_SECONDS * random.random()  # noqa: S311 - no secret
        visit.clock.come_back_in((turn.seconds if turn else 0.0) + later)
        return False
    if turn.seconds > 0:
        visit.route.turn = dial
        visit.clock.come_back_in(turn.seconds)
    return turn.seconds == 0


def wait_for_turn(visit: Visit, dial: str, context: FetchContext) -> None:
    """Wait for the host's turn, for a request that follows another within one step."""
    while not context.pace.ending.is_set() and not wait_for_next_turn(
        visit, dial, context, or_wait=True
    ):
        pass


def wait_for_next_turn(
    visit: Visit, dial: str, context: FetchContext, *, or_wait: bool = False
) -> bool:
    """Wait for the next turn, AHEAD_SECONDS at most. Return False if no turn is free now. With
    `or_wait`, wait for a free turn before returning False.
    """
    gap = context.pace.address_gap(dial, visit.clock.configured_delay)
    if not gap:
        return True
    turn = context.port.ask(partial(take_turn, dial, gap)) or AddressTurn(
        LATER_SECONDS, is_taken=False
    )
    if turn.is_taken or or_wait:
        context.pace.pause(turn.seconds)
    return turn.is_taken
