"""Extract and conclude: what the answer says, where it leads, and what that makes of the URL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256

from xxhash import xxh3_64_intdigest

from crawling.documents.base import Document, Source, one_line
from crawling.documents.registry import read_document
from crawling.fetchers.http import Fetched
from crawling.frontier.claiming import ClaimedUrl
from crawling.frontier.parcels import Parcel
from crawling.frontier.recording import Answer, Outcome
from crawling.frontier.sowing import Candidate
from crawling.models import UrlState
from crawling.processors.kit import Kit
from crawling.rules.addresses import Address, BadUrl, read_address, signed
from crawling.rules.freshness import fresh_until, read_date
from crawling.rules.links import Links
from crawling.rules.politeness import retry_after
from crawling.rules.simhash import simhash
from crawling.rules.statuses import MOST_REDIRECTS, TRANSIENT, FetchStatus, explain, is_redirect, succeeded
from crawling.rules.traps import pattern_of

NOTHING = Document()
ABSTRACT_LENGTH = 300


def conclude(claimed: ClaimedUrl, address: Address, dialled: str, fetched: Fetched, kit: Kit, *, sitemaps: Sequence[str] = ()) -> Outcome:
    """Return what became of the URL. A try that may end better in a moment goes back to the queue.

    sitemaps: those of the site, which count as links of this page.
    """
    error = fetched.error or ("" if succeeded(fetched.status) else explain(fetched.status))
    if fetched.status in TRANSIENT:
        retry = retry_after(claimed.attempts, of_robots=fetched.is_of_robots)
        if retry is not None:
            return Outcome(claimed.id, UrlState.QUEUED, fetched.status, error, retry_seconds=retry)
    if fetched.status < 0:
        state = UrlState.EXCLUDED if fetched.status in (FetchStatus.ROBOTS_FORBID, FetchStatus.HOST_BLOCKED) else UrlState.FAILED
        return Outcome(claimed.id, state, fetched.status, error)
    target = _redirect_target(address, fetched)
    document = _read(address, fetched, kit)
    answer = _answer(address, dialled, fetched, document, target)
    parcel = _parcel(claimed, fetched)
    if target and claimed.redirects >= MOST_REDIRECTS:
        too_many = FetchStatus.TOO_MANY_REDIRECTS
        return Outcome(claimed.id, UrlState.FAILED, too_many, too_many.sentence, answer=answer, parcel=parcel)
    maps = Links(address.url)
    for sitemap in sitemaps:
        maps.add(sitemap)
    links = _links(claimed, [*document.links, *maps.found], target, kit)
    state = UrlState.SUCCEEDED if succeeded(fetched.status) else UrlState.FAILED
    return Outcome(claimed.id, state, fetched.status, error, answer=answer, links=links, parcel=parcel)


def _parcel(claimed: ClaimedUrl, fetched: Fetched) -> Parcel | None:
    return Parcel(claimed.url, claimed.depth, claimed.attempts, fetched.exchange) if fetched.exchange else None


def _redirect_target(address: Address, fetched: Fetched) -> Address | None:
    if not is_redirect(fetched.status) or not fetched.location:
        return None
    try:
        return read_address(fetched.location, address.url)
    except BadUrl:
        return None


def _read(address: Address, fetched: Fetched, kit: Kit) -> Document:
    if not succeeded(fetched.status) or not fetched.body:
        return NOTHING
    return read_document(Source(fetched.body, address.url, fetched.content_type, fetched.charset, kit.reading))


def _links(claimed: ClaimedUrl, written: Sequence[Address], target: Address | None, kit: Kit) -> list[Candidate]:
    """A redirect leads as deep as it stands, and that of a seed is a seed: `example.org` may well live at `www`."""
    depth = claimed.depth + 1
    found = [link for link in written if kit.scope.admits(link, depth)]
    links = [candidate for link in kit.seen.unseen(found) if (candidate := _candidate(link, depth, claimed, kit))]
    if target and (claimed.depth == 0 or kit.scope.admits(target, claimed.depth)):
        links.append(Candidate(target, claimed.depth, claimed.id, claimed.redirects + 1))
    return links


def _candidate(link: Address, depth: int, claimed: ClaimedUrl, kit: Kit) -> Candidate | None:
    judged = kit.traps.judge(link)
    if judged.is_banned:
        return None
    return Candidate(link, depth, claimed.id, pattern=judged.pattern.key if judged.pattern else None, trap=judged.trap)


def _answer(address: Address, dialled: str, fetched: Fetched, document: Document, target: Address | None) -> Answer:
    now = datetime.now(UTC)
    is_content = 200 <= fetched.status < 300 and bool(fetched.body)
    return Answer(
        status=fetched.status,
        final_url=target.url if target else address.url,
        content_type=fetched.content_type.replace("\0", ""),
        charset=document.charset or (fetched.charset or "").replace("\0", ""),
        title=document.title,
        bytes=len(fetched.body),
        fingerprint=signed(xxh3_64_intdigest(fetched.body)),
        address=dialled,
        fetch_seconds=fetched.seconds,
        fetched_at=now,
        digest=sha256(fetched.body).digest() if is_content else b"",
        simhash=simhash(document.text) if document.text else None,
        canonical=document.canonical,
        author=document.author,
        description=document.description,
        abstract=one_line(document.text, ABSTRACT_LENGTH),
        language=document.language,
        links=len(document.links),
        needs_browser=document.needs_browser,
        last_modified=read_date(fetched.headers.get("Last-Modified", "")),
        expires_at=fresh_until(fetched.headers, now),
        pattern=pattern_of(address),
        extracted=document.extracted,
    )
