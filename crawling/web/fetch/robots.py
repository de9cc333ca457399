"""Fetch an origin's robots.txt (RFC 9309, section 2.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from crawling.web.addresses import WEB, Address, BadUrl, read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.fetch.http import Fetched
from crawling.web.robots import MAX_ROBOTS_BYTES, resolve_sitemaps
from crawling.web.statuses import FetchStatus, is_redirect

#: section 2.3.1.2 requires at least five
MAX_HOPS = 5
#: a choice of targets, and an obsolete proxy status, which do not lead to rules
NO_REDIRECTS = frozenset({300, 305, 306})


def fetch_robots(origin: str, get: Callable[[Address, int], Fetched | None]) -> Fetched | None:
    """Return the last answer after all redirects. Its status decides what may be fetched, and its
    body has the rules.

    `get(address, hop)` fetches one hop from a vetted address, and keeps the delay between hops.
    `get` returns None if it cannot fetch now. Too many redirects count as no robots.txt at all
    (section 2.3.1.2).
    """
    address = read_address(f"{origin}/robots.txt")
    for hop in range(MAX_HOPS + 1):
        answer = get(address, hop)
        if answer is None:
            return None
        status, _ = status_and_text(answer)
        if status in NO_REDIRECTS:
            break
        if not is_redirect(status):
            return _with_whole_sitemaps(address, answer) if hop else answer
        if not answer.location:
            break
        try:
            address = read_address(answer.location, address.url)
        except BadUrl:
            break
        if address.scheme not in WEB:
            break
    return Fetched(404)


def _with_whole_sitemaps(address: Address, answer: Fetched) -> Fetched:
    """The answer from another address, to which its sitemaps are relative."""
    body = answer.body.start(MAX_ROBOTS_BYTES)
    whole = resolve_sitemaps(body, address.url)
    return answer if whole == body else replace(answer, body=DocumentStream.of(whole))


def status_and_text(answer: Fetched) -> tuple[int, bytes]:
    """Status and body as they are stored. Of a file that is too large, or takes too much to decode,
    the beginning counts (section 2.5).
    """
    if answer.status in (FetchStatus.TOO_BIG, FetchStatus.UNDECODABLE):
        return answer.http_status, answer.body.start(MAX_ROBOTS_BYTES)
    return answer.status, answer.body.read()
