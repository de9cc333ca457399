"""Fetch the document. If an earlier run has stored it, fetch it only if it has changed since."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus

from requests.structures import CaseInsensitiveDict

from crawling.archive.earlier_answers import EarlierAnswer, StoredDocument, stored_document
from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier import ClaimedUrl
from crawling.web.addresses import WEB, Address, BadUrl, read_address
from crawling.web.fetch.http import Fetched
from crawling.web.http_caching import read_date, renewed_fields
from crawling.web.statuses import NOT_MODIFIED_STATUS, is_redirect

SINCE = "If-Modified-Since"
#: how often a URL may set a cookie and redirect to itself
MOST_COOKIE_TURNS = 3


def fetch_anew(
    visit: Visit, claimed: ClaimedUrl, address: Address, dial: str, context: FetchContext
) -> Fetched:
    """Fetch the URL. If the server confirms the stored copy, the answer has the stored body.

    A seed with data to post is fetched by POST.
    """
    posted = context.client.fetching.posts.get(address.url) if claimed.depth == 0 else None
    if posted is not None:
        return context.get_document(address, dial, form=posted.encode())
    earlier = visit.earlier.get(claimed.id) if address.scheme in WEB else None
    stored = stored_document(earlier, context.client.max_document_bytes) if earlier else None
    with ExitStack() as unneeded:
        if stored:
            unneeded.callback(stored.body.close)
        fetched = context.get_document(
            address,
            dial,
            asking=_conditions(earlier, stored) if earlier and stored else None,
            is_head_only=context.links.filters.wants_head_only(claimed.hops),
            is_map=claimed.nesting > 0,
            is_seed=claimed.depth == 0,
        )
        if stored and fetched.status == NOT_MODIFIED_STATUS:
            unneeded.pop_all()
            return _carried_over(fetched, stored)
    return fetched


def _conditions(earlier: EarlierAnswer, stored: StoredDocument) -> dict[str, str]:
    """The conditional headers, with the date as the server wrote it, since some servers compare the
    text (RFC 9110, section 13.1.3).
    """
    asked, written = earlier.condition_headers, stored.headers.get("last-modified", "")
    is_same = earlier.last_modified is not None and read_date(written) == earlier.last_modified
    return asked | ({SINCE: written} if is_same and written.isascii() else {})


def must_ask_without_condition(visit: Visit, claimed: ClaimedUrl, fetched: Fetched) -> bool:
    """Whether a server treated the question "has the page changed?" as a failed condition. The URL
    is then requested once more without the condition, after the host's delay.
    """
    if fetched.status != HTTPStatus.PRECONDITION_FAILED:
        return False
    return visit.earlier.pop(claimed.id, None) is not None


def _carried_over(fetched: Fetched, stored: StoredDocument) -> Fetched:
    fetched.body.close()
    return replace(
        fetched,
        headers=CaseInsensitiveDict(
            renewed_fields(stored.headers, CaseInsensitiveDict(fetched.headers).items())
        ),
        body=stored.body,
        unchanged_since=stored.page,
    )


def sets_cookies_first(
    visit: Visit, claimed: ClaimedUrl, address: Address, fetched: Fetched, context: FetchContext
) -> bool:
    """Whether the answer only sets cookies and redirects to the same URL. The URL is then requested
    again, but at most MOST_COOKIE_TURNS times.
    """
    if (
        not context.client.fetching.keeps_cookies
        or not is_redirect(fetched.status)
        or "Set-Cookie" not in fetched.headers
    ):
        return False
    visit.repeats.sent_back = (
        claimed.id,
        visit.repeats.sent_back[1] + 1 if visit.repeats.sent_back[0] == claimed.id else 1,
    )
    if visit.repeats.sent_back[1] > MOST_COOKIE_TURNS:
        return False
    try:
        return read_address(fetched.location, address.url).url == address.url
    except BadUrl:
        return False


def must_answer(
    claimed: ClaimedUrl, address: Address, fetched: Fetched, context: FetchContext
) -> bool:
    """Whether the host requires credentials that the order has. The URL is then requested once more
    with them, after the host's delay.
    """
    if fetched.status != HTTPStatus.UNAUTHORIZED:
        return False
    session = context.client.session_of(address.host_key)
    is_new = session.answered != claimed.id and bool(context.client.policy.password_for(address))
    session.answered = claimed.id if is_new else 0
    return is_new
