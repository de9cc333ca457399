"""Fetch an origin's robots.txt, which may redirect to other hosts. Each host is asked at its own
pace, and the answers are archived.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.preconditions import (
    address_to_dial,
    lack_robots,
    set_robots,
    wait_for_next_turn,
    wait_for_turn,
)
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier.address_clock import AHEAD_SECONDS, BorrowedHost, borrow_hosts, return_host
from crawling.frontier.host_state import valid_robots
from crawling.web.addresses import Address
from crawling.web.document_stream import DocumentStream
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.robots import fetch_robots, status_and_text
from crawling.web.politeness import backoff_seconds_after
from crawling.web.robots import MAX_ROBOTS_BYTES
from crawling.web.statuses import OUTAGES, FetchStatus

#: the longest wait for another host. A host that is leased, or rests for longer, is tried later
SOON_SECONDS = 2.0
LATER_SECONDS = 1.0
#: the most failed leases of a redirect's host; then that host counts as not answering, and its
#: robots.txt is requested again in a minute
MOST_TRIES = 20


def learn_robots(visit: Visit, address: Address, dial: str, context: FetchContext) -> None:
    """Fetch the origin's robots.txt and keep it.

    Each step is one fetch, followed by the host's delay.

    If the file redirects to a host that is leased elsewhere, nothing is known yet, and the visit
    soon continues with the remaining redirects.
    """
    answer = fetch_robots(address.origin, partial(_answer_of_hop, visit, address, dial, context))
    if answer is None:
        visit.clock.come_back_in(LATER_SECONDS)
        return
    visit.robots.hops.clear()
    visit.robots.tries = 0
    if answer.is_stale:
        return  # it is requested again after the host's delay, over a new connection
    if answer.status == FetchStatus.CONNECT_FAILED and visit.route.demote(dial):
        return  # it is requested again, from the host's next address
    status, body = status_and_text(answer)
    if context.client.has_default_identity(address.host_key):
        context.port.keep_robots(address.origin, status, body)
    else:
        context.port.keep_own_robots(address.origin, status, body)
    robots = context.robots.read(status, body)
    if robots.unavailable and (old := visit.robots.outdated.get(address.origin)):
        # RFC 9309, section 2.4: the old file holds while no newer one can be fetched
        robots = context.robots.read(*old)
    elif robots.unavailable and context.robots.binds(address.host_key):
        if lack_robots(visit, address.origin, robots):
            visit.clock.rest_for_delay()
        return
    # the host may still refuse all pages
    elif not visit.availability.outage or visit.availability.outage.status in OUTAGES:
        visit.availability.recover()
    set_robots(visit, address.origin, robots)
    visit.clock.rest_for_delay()  # the delay may be longer by now


def _answer_of_hop(
    visit: Visit, address: Address, dial: str, context: FetchContext, hop: Address, number: int
) -> Fetched | None:
    """The answer of one hop. None if its host cannot be asked now.

    Answers of earlier hops are not requested again.
    """
    if hop.url in visit.robots.hops:
        return visit.robots.hops[hop.url]
    if hop.host_key != address.host_key:
        answer = _ask_other_host(visit, hop, context)
    else:
        refusal = None
        # vetted again even on the same host, since addresses are allowed by port
        if hop.port != address.port:
            dial, refusal = address_to_dial(
                context.port.resolve(hop.hostname), hop.port, context.client.egress.dialling
            )
        if number and not refusal:
            context.pace.pause(visit.clock.host_free_at - time.monotonic())
            wait_for_turn(visit, dial, context)
        answer = refusal or _fetch_once(hop, dial, context)
        visit.rest(answer)
    if answer:
        visit.robots.hops[hop.url] = answer
    return answer


def _ask_other_host(visit: Visit, hop: Address, context: FetchContext) -> Fetched | None:
    """Ask another host when its clock allows it. Never wait for another shift's lease, since this
    visit holds a host itself.
    """
    if known := _known_elsewhere(hop, context):
        return known
    dial, refusal = address_to_dial(
        context.port.resolve(hop.hostname), hop.port, context.client.egress.dialling
    )
    if refusal:
        return refusal
    host = _borrowed(hop, context)
    if host is None:
        visit.robots.tries += 1
        status = FetchStatus.ROBOTS_UNAVAILABLE
        return Fetched(status, error=status.sentence) if visit.robots.tries > MOST_TRIES else None
    rest = context.pace.delay_seconds
    try:
        context.pace.pause(host.wait_seconds)
        # The other host is leased only for a while, so it goes back without a request if all near
        # turns are taken.
        if not wait_for_next_turn(visit, dial, context):
            rest = 0.0
            return None
        if context.pace.ending.is_set():
            return None
        answer = _fetch_once(hop, dial, context)
        rest = max(rest, backoff_seconds_after(answer.status, asked=None, in_a_row=0, chance=0.0))
        return answer
    finally:
        context.port.ask(lambda: return_host(host, rest))


def _known_elsewhere(hop: Address, context: FetchContext) -> Fetched | None:
    """The robots.txt that a visit of the other host has fetched."""
    if hop.url != f"{hop.origin}/robots.txt":
        return None
    known = context.port.ask(lambda: valid_robots([hop.origin]).get(hop.origin))
    return Fetched(known[0], body=DocumentStream.of(known[1])) if known else None


def _borrowed(hop: Address, context: FetchContext) -> BorrowedHost | None:
    """The other host, leased for one request. None if another shift has leased it."""
    asks = context.client.fetching
    seconds = SOON_SECONDS + AHEAD_SECONDS + asks.connect_seconds + asks.document_seconds
    found = context.port.ask(
        lambda: borrow_hosts([hop.host_key], soon_seconds=SOON_SECONDS, seconds=seconds)
    )
    return found[hop.host_key] if found else None


def _fetch_once(hop: Address, dial: str, context: FetchContext) -> Fetched:
    """Fetch once. The exchange goes to the archive like a document's, but no page's row refers to
    it.
    """
    fetched = context.client.get(hop, dial, MAX_ROBOTS_BYTES, keep=context.archives)
    # the beginning is read before another thread reads the document
    answer = DocumentStream.of(fetched.body.start(MAX_ROBOTS_BYTES))
    context.archive_aside(hop, dial, fetched)
    fetched.body.close()
    return replace(fetched, body=answer, exchange=None)
