"""One step of one visit: the stages in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crawling.fetching.pipeline.conclusion import conclude, read_ahead
from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.host_faults import (
    give_up_beyond_patience,
    note_answer,
    request_known_page,
)
from crawling.fetching.pipeline.login import is_logged_out, log_in, must_log_in
from crawling.fetching.pipeline.page_browser import ReadPage
from crawling.fetching.pipeline.preconditions import (
    acquire_turn,
    lack_robots,
    refusal_by_robots,
    refusal_by_rules,
    route_to,
)
from crawling.fetching.pipeline.rendering import archive_derived, read_with_browser
from crawling.fetching.pipeline.revalidation import (
    fetch_anew,
    must_answer,
    must_ask_without_condition,
    sets_cookies_first,
)
from crawling.fetching.pipeline.robots import learn_robots
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier import ClaimedUrl, UrlOutcome
from crawling.models import UrlState
from crawling.web.addresses import WEB, Address, canonical_address
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.progress import FetchStep, report_step
from crawling.web.outages import Outage
from crawling.web.reading.process import AheadDocument
from crawling.web.robots import RobotsRules
from crawling.web.statuses import OUTAGES, FetchStatus


@dataclass(frozen=True, slots=True)
class UnreadAnswer:
    """An answer that is not read yet. Reading it does not need the host."""

    claimed: ClaimedUrl
    address: Address
    dial: str
    fetched: Fetched
    sitemaps: Sequence[str]
    #: the document, if a reading process has it
    ahead: AheadDocument | None = None
    #: the page, if it was read because a browser might render it
    page: ReadPage | None = None

    def is_read(self) -> bool:
        """Whether nothing has to be waited for."""
        return self.ahead is None or self.ahead.is_read()


def step(visit: Visit, context: FetchContext) -> UnreadAnswer | UrlOutcome | None:
    """Try the visit's next URL. Return None if the URL is not settled yet: something comes first
    (robots.txt, a login, credentials), it is another host's turn at the address, the host's next
    address is tried, or the shift ends.

    The visit is free again one delay after the end of whatever was fetched (not after its start,
    since a slow server would otherwise be asked sooner). A step that needs no fetch costs no delay.
    """
    assert visit.route.resolution is not None
    claimed = visit.urls[0]
    address = canonical_address(claimed.url)
    filters = context.links.filters
    is_outside = not filters.scope.has_host_of(address)
    visit.availability.is_foreign = is_outside and filters.wants_head_only(claimed.hops)
    dial, refusal = route_to(address, visit.route.resolution, context)
    if outcome := _outcome_without_request(visit, claimed, address, context):
        visit.urls.popleft()
        return outcome
    if refusal and refusal.status in OUTAGES:
        visit.availability.suspend(refusal)
        return None
    if not refusal and address.scheme in WEB and not _knows_rules(visit, address, dial, context):
        return None
    robots = visit.robots.by_origin.get(address.origin)
    if robots is not None and context.robots.binds(address.host_key):
        refusal = refusal or refusal_by_robots(robots, address)
    if refusal:
        visit.urls.popleft()
        return _outcome_of_refusal(visit, claimed, address, dial, refusal, context)
    if must_log_in(address, context):
        if acquire_turn(visit, dial, context):
            log_in(visit, address, dial, context)
            keep_session(visit, address, context)
        return None
    fetched = _earlier_or_new_answer(visit, claimed, address, dial, context)
    if not fetched:
        return None
    if visit.availability.given_up:
        fetched.close()
        return _given_up(claimed, visit.availability.given_up)
    maps = _sitemaps(visit, address, robots)
    page, ahead = _begin_reading(visit, claimed, address, fetched, context)
    return UnreadAnswer(claimed, address, dial, fetched, maps, ahead, page)


def _begin_reading(
    visit: Visit, claimed: ClaimedUrl, address: Address, fetched: Fetched, context: FetchContext
) -> tuple[ReadPage | None, AheadDocument | None]:
    """The page, if a browser might render it, which needs the host; else the document that a
    reading process has.
    """
    if page := read_with_browser(visit, claimed, address, fetched, context):
        return page, None
    return None, read_ahead(claimed, address, fetched, context)


def _outcome_without_request(
    visit: Visit, claimed: ClaimedUrl, address: Address, context: FetchContext
) -> UrlOutcome | None:
    """The outcome of a URL that needs no request: the rules exclude it, its host is given up, or
    its origin may not be asked yet.
    """
    if unwanted := refusal_by_rules(claimed, address, context):
        return conclude(claimed, address, "", unwanted, context)
    if visit.availability.given_up:
        return _given_up(claimed, visit.availability.given_up)
    if wait := visit.availability.seconds_to_wait(address.origin):
        return _waiting_outcome(claimed, visit.availability.origins[address.origin], wait)
    return None


def _given_up(claimed: ClaimedUrl, why: Fetched) -> UrlOutcome:
    return UrlOutcome(claimed.id, UrlState.FAILED, why.status, why.error)


def _outcome_of_refusal(
    visit: Visit,
    claimed: ClaimedUrl,
    address: Address,
    dial: str,
    why: Fetched,
    context: FetchContext,
) -> UrlOutcome:
    """The outcome of a URL that is not requested.

    If its origin cannot be fetched from, while another origin of its host can, the URL waits alone
    until the origin is given up.
    """
    availability, origin = visit.availability, address.origin
    if why.status != FetchStatus.ROBOTS_UNAVAILABLE or availability.is_foreign:
        return conclude(claimed, address, dial, why, context)
    availability.suspend_origin(origin, why)
    del visit.robots.by_origin[origin]  # requested again at the next try
    outage = availability.origins[origin]
    if wait := availability.seconds_to_wait(origin):
        return _waiting_outcome(claimed, outage, wait)
    return UrlOutcome(claimed.id, UrlState.FAILED, outage.status, outage.failure_reason)


def _waiting_outcome(claimed: ClaimedUrl, outage: Outage, seconds: float) -> UrlOutcome:
    return UrlOutcome(
        claimed.id,
        UrlState.QUEUED,
        outage.status,
        outage.sentence,
        retry_seconds=seconds,
        is_untried=True,
    )


def _knows_rules(visit: Visit, address: Address, dial: str, context: FetchContext) -> bool:
    """Whether robots.txt is known, or cannot be fetched although another origin's can: a site may
    answer by only one of HTTP and HTTPS.

    If neither, robots.txt was requested just now, or the host waits until it can be fetched.
    """
    robots = visit.robots.by_origin.get(address.origin)
    if robots is None:
        if acquire_turn(visit, dial, context):
            learn_robots(visit, address, dial, context)
        return False
    if robots.unavailable and context.robots.binds(address.host_key):
        return lack_robots(visit, address.origin, robots)
    visit.availability.recover_origin(address.origin)
    return True


def read(answer: UnreadAnswer, visit: Visit, context: FetchContext) -> UrlOutcome:
    """Return the outcome of the URL. Another fetch thread may have the visit meanwhile."""
    report_step(FetchStep.EXTRACTING)
    try:
        outcome = conclude(
            answer.claimed,
            answer.address,
            answer.dial,
            answer.fetched,
            context,
            sitemaps=answer.sitemaps,
            ahead=answer.ahead,
            page=answer.page,
        )
        if outcome.answer:
            visit.robots.mapped.add(answer.address.origin)
        if outcome.captured and answer.page:
            outcome.captured.derived = archive_derived(answer.page, answer.address, context)
        return outcome
    finally:
        if answer.ahead:
            answer.ahead.close()
        answer.fetched.close()


def _earlier_or_new_answer(
    visit: Visit, claimed: ClaimedUrl, address: Address, dial: str, context: FetchContext
) -> Fetched | None:
    """The earlier answer for the URL, or the host's answer in the visit's turn. None if the URL is
    not settled yet.
    """
    offered = context.offers.take(
        claimed.id,
        archives=context.archives,
        most=context.client.max_document_bytes,
    )
    if offered is None and visit.availability.is_doubtful:
        request_known_page(visit, context)
        return None
    if offered is None and address.scheme != "file" and not acquire_turn(visit, dial, context):
        return None
    visit.urls.popleft()
    return offered or _answer_of_host(visit, claimed, address, dial, context)


def _answer_of_host(
    visit: Visit, claimed: ClaimedUrl, address: Address, dial: str, context: FetchContext
) -> Fetched | None:
    """The host's answer. None if the URL is not settled yet."""
    fetched = fetch_anew(visit, claimed, address, dial, context)
    visit.rest(fetched, page=claimed)
    keep_session(visit, address, context)
    if fetched.status in OUTAGES and (
        address.scheme in WEB or fetched.status != FetchStatus.PROXY_FAILED
    ):
        visit.urls.appendleft(claimed)
        # otherwise at the host's next address
        if not (fetched.status == FetchStatus.CONNECT_FAILED and visit.route.demote(dial)):
            visit.availability.suspend(fetched)
        return None
    if fetched.is_stale:
        # once more after the host's delay: the new connection carried no request
        visit.urls.appendleft(claimed)
        return None
    if note_answer(visit, claimed, address, fetched, context):
        fetched.close()
        visit.urls.appendleft(claimed)
        return None
    if (
        is_logged_out(address, fetched, context)
        or must_answer(claimed, address, fetched, context)
        or must_ask_without_condition(visit, claimed, fetched)
        or sets_cookies_first(visit, claimed, address, fetched, context)
    ):
        fetched.close()
        keep_session(visit, address, context)
        visit.urls.appendleft(claimed)
        return None
    return fetched if visit.availability.is_foreign else give_up_beyond_patience(visit, fetched)


def _sitemaps(visit: Visit, address: Address, robots: RobotsRules | None) -> list[str]:
    """The sitemaps for the first page of their origin, since each link needs a page on which it was
    found.

    Pages that are read at the same time may all get the sitemaps; the frontier takes each sitemap
    once.
    """
    return robots.sitemaps if robots and address.origin not in visit.robots.mapped else []


def keep_session(visit: Visit, address: Address, context: FetchContext) -> None:
    """Hand on the host's session if it has changed."""
    session = context.client.session_of(address.host_key)
    if context.client.keeps_sessions and session.has_changed:
        context.port.keep_session(visit.host.host_id, session.dump())
