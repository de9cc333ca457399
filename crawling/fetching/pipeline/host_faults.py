"""The cause of a failed page: the page itself, or a host that is overloaded or turns the crawler
away.

Several URLs that fail in a row make a host doubtful. A page that was fetched before then decides:
if it is fetched again, the failed pages are at fault; if not, the host is at fault, and its URLs
wait untried.
"""

from __future__ import annotations

from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.preconditions import acquire_turn, route_to
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier import ClaimedUrl
from crawling.frontier.due_queues import fetched_seed
from crawling.web.addresses import Address, canonical_address
from crawling.web.fetch.http import Fetched
from crawling.web.statuses import (
    OUTAGES,
    FetchStatus,
    is_success,
    may_be_host_fault,
    status_sentence,
)


def note_answer(
    visit: Visit, claimed: ClaimedUrl, address: Address, fetched: Fetched, context: FetchContext
) -> bool:
    """Whether a page's answer makes its host doubtful, so that the page is requested again later
    without counting this try. Any answer that cannot be the host's fault ends the doubt.
    """
    answered = fetched.http_status or fetched.status
    if may_be_host_fault(answered):
        availability = visit.availability
        if fetched.status == FetchStatus.TOO_SLOW:
            availability.known_page = ""  # a host may send one page well, and all others too slowly
        elif not availability.known_page and availability.row + 1 >= availability.doubtful_row:
            seed = context.port.ask(lambda: fetched_seed(visit.host.queue_id)) or ""
            availability.known_page = "" if seed in context.client.fetching.posts else seed
        told = _answer_in_words(address.url, answered, fetched.retry_after)
        return availability.note_refusal(
            told, answered, is_first_try=claimed.attempts == 1, asked=fetched.retry_after
        )
    if answered > 0:
        is_known = is_success(answered) and address.url not in context.client.fetching.posts
        visit.availability.note_page(address.url if is_known else "")
    return False


def request_known_page(visit: Visit, context: FetchContext) -> None:
    """Ask the doubtful host for the head of a page that was fetched before."""
    assert visit.availability.outage is not None
    assert visit.route.resolution is not None
    page = canonical_address(visit.availability.outage.known_page)
    dial, refusal = route_to(page, visit.route.resolution, context)
    if refusal and refusal.status in OUTAGES:
        visit.availability.suspend(refusal)
        return
    if refusal:
        visit.availability.trust()  # the page is no evidence any more
        return
    if not acquire_turn(visit, dial, context):
        return
    fetched = context.get_document(page, dial, is_head_only=True)
    fetched.close()
    visit.rest(fetched)
    answered = fetched.http_status or fetched.status
    if answered in OUTAGES:
        visit.availability.suspend(fetched)
    elif may_be_host_fault(answered):
        told = f"{_answer_in_words(page.url, answered, fetched.retry_after)} It was had before."
        refused = Fetched(FetchStatus.HOST_BUSY, error=told)
        visit.availability.doubt(refused, asked=fetched.retry_after, is_known_page=True)
    elif not fetched.is_stale:
        visit.availability.trust()


def give_up_beyond_patience(visit: Visit, fetched: Fetched) -> Fetched:
    """The answer, or its replacement if the page requires a longer wait than the crawl accepts."""
    asked, answered = fetched.retry_after, fetched.http_status or fetched.status
    if not asked or answered < 400 or not visit.availability.is_beyond_patience(asked):
        return fetched
    fetched.close()
    status = FetchStatus.HOST_BUSY
    return Fetched(status, error=f"{status.sentence} ({status_sentence(answered)}, {asked:,.0f} s)")


def _answer_in_words(url: str, answered: int, asked: float | None) -> str:
    wish = f" and asks for {asked:,.0f} s" if asked else ""
    return f"{url} was answered: {status_sentence(answered).rstrip('.')}{wish}."
