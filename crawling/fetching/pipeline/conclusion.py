"""Turn an answer into the outcome of its URL, with the links of its document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from xxhash import xxh3_64

from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.page_browser import ReadPage
from crawling.fetching.pipeline.page_links import COPY, bad_maps, links_of, targets_of, with_head
from crawling.frontier import CapturedExchange, ClaimedUrl, PageLinks, ServerAnswer, UrlOutcome
from crawling.frontier.types import DocumentSummary
from crawling.models import UrlState
from crawling.orders.scope.trap_patterns import Pattern, list_address, pattern_by_key
from crawling.web.addresses import Address, BadUrl, may_link_to_scheme, read_address, signed_64_bits
from crawling.web.content.text_facts import TextFacts
from crawling.web.document_stream import GZIP_MAGIC, SPOOL_BYTES
from crawling.web.documents.base import Document, TruncationReason
from crawling.web.documents.html import TYPES as HTML_TYPES
from crawling.web.documents.registry import read_document
from crawling.web.documents.written_links import links_of_answer, with_fragment
from crawling.web.fetch.http import Fetched
from crawling.web.http_caching import fresh_until, read_date, read_etag
from crawling.web.politeness import retry_seconds_after
from crawling.web.reading.process import AheadDocument
from crawling.web.statuses import (
    MOST_INDEXES,
    MOST_REDIRECTS,
    UNWANTED,
    FetchStatus,
    is_redirect,
    is_success,
    may_pass,
    status_sentence,
)

NOTHING = Document()
MEMORY_BUSY = FetchStatus.MEMORY_BUSY, FetchStatus.MEMORY_BUSY.sentence


class ContentMarks(NamedTuple):
    fingerprint: int
    #: the SHA-256 of a document that counts as content; else empty
    digest: bytes
    #: the SHA-256 of the answer's body; the content of a rendered page is another
    body_digest: bytes
    #: the facts of its text, if a reading process has computed them
    facts: TextFacts | None = None


def conclude(
    claimed: ClaimedUrl,
    address: Address,
    dialled: str,
    fetched: Fetched,
    context: FetchContext,
    *,
    sitemaps: Sequence[str] = (),
    ahead: AheadDocument | None = None,
    page: ReadPage | None = None,
) -> UrlOutcome:
    """Return what became of the URL. A try that may end better in a moment goes back to the queue.

    sitemaps: the sitemaps that the site's robots.txt names, as written there, to be recorded with
    this page. page: the page, if it was read because a browser might render it.
    """
    error = fetched.error or ("" if is_success(fetched.status) else status_sentence(fetched.status))
    is_head_only = context.links.filters.wants_head_only(claimed.hops)
    asked = fetched.retry_after if fetched.status >= 400 else None
    if outcome := _without_answer(claimed, fetched.status, error, asked, is_last=is_head_only):
        return outcome
    if page and page.about.verdict == FetchStatus.RENDER_BUSY:
        retry = retry_seconds_after(claimed.attempts, None)
        if retry is not None:  # else the page is read as it was fetched
            busy = FetchStatus.RENDER_BUSY
            return UrlOutcome(claimed.id, UrlState.QUEUED, busy, busy.sentence, retry_seconds=retry)
    fetched = replace(fetched, body=fetched.body.at_hand())
    marks = _digests(fetched, page)
    document = NOTHING
    if not is_head_only:
        document = _read(claimed, address, fetched, marks, context, ahead, page)
    marks = marks._replace(facts=ahead.facts if ahead else None)
    is_seed = claimed.depth == 0 and not claimed.nesting and 200 <= fetched.status < 300
    if is_seed and not document.is_sitemap and (told := context.refusal_of_seed(fetched)):
        return UrlOutcome(claimed.id, UrlState.EXCLUDED, FetchStatus.WRONG_TYPE, told)
    if not is_head_only:
        document = with_head(document, claimed, address, fetched, context)
    is_busy = document.unread is TruncationReason.BUSY
    if is_busy and (outcome := _without_answer(claimed, *MEMORY_BUSY)):
        return outcome
    maps = () if is_head_only else sitemaps
    outcome = _with_answer(
        claimed, address, dialled, fetched, document, marks, maps, error, context
    )
    if page and outcome.answer:
        answer = replace(outcome.answer, rendered=page.about)
        outcome = replace(outcome, answer=answer)
    return outcome


def _with_answer(
    claimed: ClaimedUrl,
    address: Address,
    dialled: str,
    fetched: Fetched,
    document: Document,
    marks: ContentMarks,
    maps: Sequence[str],
    error: str,
    context: FetchContext,
) -> UrlOutcome:
    """The outcome of a URL whose answer is read: a page, and the links that lead from it."""
    target = _redirect_target(address, fetched)
    is_personal = context.client.policy.is_personal
    pattern = pattern_by_key(address, claimed.pattern, year=context.links.traps.year)
    answer = _answer(
        address, dialled, fetched, document, target, marks, pattern, is_personal=is_personal
    )
    found = [*document.links, *([target] if target else [])]
    if astray := _redirect_mistake(claimed, address, fetched, target, document):
        told = (
            _missing_target_in_words(fetched)
            if astray is FetchStatus.REDIRECT_NOWHERE
            else astray.sentence
        )
        captured = _captured(claimed, fetched, marks.body_digest, found)
        return UrlOutcome(
            claimed.id, UrlState.FAILED, astray, told, answer=answer, captured=captured
        )
    links, refusals = links_of(claimed, address, document, maps, target, context.links)
    state = UrlState.SUCCEEDED if is_success(fetched.status) else UrlState.FAILED
    page_links = _page_links(address, document, target, fetched)
    targets = targets_of(claimed, address, document, target, context.links)
    return UrlOutcome(
        claimed.id,
        state,
        fetched.status,
        error,
        answer=answer,
        links=links,
        refusals=refusals,
        captured=_captured(claimed, fetched, marks.body_digest, found),
        page_links=page_links,
        modified=document.modified,
        bad_maps=bad_maps(address, maps) if maps else (),
        targets=targets,
    )


def _page_links(
    address: Address, document: Document, target: Address | None, fetched: Fetched
) -> PageLinks:
    leads_to = with_fragment(target.url, fetched.location) if target else ""
    written = links_of_answer(document, leads_to)
    return PageLinks(address.url, document.base, document.charset, written)


def _without_answer(
    claimed: ClaimedUrl,
    status: int,
    error: str,
    asked: float | None = None,
    *,
    is_last: bool = False,
) -> UrlOutcome | None:
    """The outcome of a URL whose answer is not read: the URL is tried again, or fails.

    asked: the seconds after which the server accepts the next request, whatever the status.
    """
    if (may_pass(status) or asked is not None) and not is_last:
        retry = retry_seconds_after(claimed.attempts, asked)
        if retry is not None:
            return UrlOutcome(claimed.id, UrlState.QUEUED, status, error, retry_seconds=retry)
    if status < 0:
        state = UrlState.EXCLUDED if status in UNWANTED else UrlState.FAILED
        return UrlOutcome(claimed.id, state, status, error)
    return None


def _captured(
    claimed: ClaimedUrl, fetched: Fetched, digest: bytes, links: Iterable[Address]
) -> CapturedExchange | None:
    if not fetched.exchange:
        return None
    outlinks = [link.url for link in links]
    sha256 = digest if fetched.exchange.is_plain and fetched.unchanged_since is None else b""
    return CapturedExchange(
        claimed.url.partition("#")[0],
        claimed.depth,
        claimed.attempts,
        fetched.exchange.share(),
        fetched.unchanged_since,
        outlinks=outlinks,
        sha256=sha256,
    )


def _redirect_target(address: Address, fetched: Fetched) -> Address | None:
    if not is_redirect(fetched.status) or not fetched.location:
        return None
    try:
        target = read_address(fetched.location, address.url)
    except BadUrl:
        return None
    return target if may_link_to_scheme(address.scheme, target.scheme) else None


def _missing_target_in_words(fetched: Fetched) -> str:
    if "Location" not in fetched.headers:
        return (
            f"{status_sentence(fetched.status)}, but the answer has no Location: it leads nowhere."
        )
    if not fetched.location:
        return f"{status_sentence(fetched.status)}, but its Location is empty: it leads nowhere."
    return f"{FetchStatus.REDIRECT_NOWHERE.sentence} ({fetched.location[:200]})"


def _redirect_mistake(
    claimed: ClaimedUrl,
    address: Address,
    fetched: Fetched,
    target: Address | None,
    document: Document,
) -> FetchStatus | None:
    """The mistake of a redirect, if the redirect alone shows the mistake."""
    if document.is_index and claimed.nesting > MOST_INDEXES:
        return FetchStatus.NESTED_SITEMAPS
    if not is_redirect(fetched.status):
        return None
    if target is None:
        return FetchStatus.REDIRECT_NOWHERE
    if target.url == address.url:
        return FetchStatus.REDIRECT_LOOP
    return FetchStatus.TOO_MANY_REDIRECTS if claimed.redirects >= MOST_REDIRECTS else None


def _read(
    claimed: ClaimedUrl,
    address: Address,
    fetched: Fetched,
    marks: ContentMarks,
    context: FetchContext,
    ahead: AheadDocument | None,
    page: ReadPage | None,
) -> Document:
    if not is_success(fetched.status) or not fetched.body:
        return NOTHING
    if context.copies.is_copy(claimed.id, marks.fingerprint, marks.digest, context.port):
        return COPY
    document = page.document if page else None
    document = document or (ahead.document() if ahead else None)
    document = document or read_document(context.source_of(address, fetched))
    is_cut = fetched.is_partial and not (document.unread or is_redirect(fetched.status))
    return replace(document, unread=TruncationReason.BROKEN) if is_cut else document


def read_ahead(
    claimed: ClaimedUrl, address: Address, fetched: Fetched, context: FetchContext
) -> AheadDocument | None:
    """Let another process read the answer's document now; None if it is left to `conclude`."""
    if (
        fetched.content_type in HTML_TYPES
        and is_success(fetched.status)
        and not context.copies.is_on
        and not context.links.filters.wants_head_only(claimed.hops)
        and 0 < len(fetched.body) <= SPOOL_BYTES
        and fetched.body.start(len(GZIP_MAGIC)) != GZIP_MAGIC
    ):
        source = context.source_of(address, fetched)
        return context.reading.begin(source, is_listed=bool(list_address(address)))
    return None


def _answer(
    address: Address,
    dialled: str,
    fetched: Fetched,
    document: Document,
    target: Address | None,
    marks: ContentMarks,
    pattern: Pattern | None,
    *,
    is_personal: bool,
) -> ServerAnswer:
    reused = fetched.reused
    now = reused.fetched_at if reused else datetime.now(UTC)
    summary = _summary(document, fetched.charset)
    is_page = bool(marks.digest) and (bool(document.text) or fetched.content_type in HTML_TYPES)
    return ServerAnswer(
        status=fetched.status,
        final_url=target.url if target else address.url,
        content_type=fetched.content_type.replace("\0", ""),
        bytes=len(fetched.body),
        fingerprint=marks.fingerprint,
        address=reused.address if reused else dialled,
        fetch_seconds=fetched.seconds,
        fetched_at=now,
        digest=marks.digest,
        summary=summary,
        last_modified=read_date(fetched.headers.get("Last-Modified", "")),
        expires_at=fresh_until(fetched.headers, now),
        etag=read_etag(fetched.headers.get("ETag", "")),
        unchanged_since=fetched.unchanged_since,
        pattern=pattern,
        text=_text_facts(address, document, marks.facts, is_page=is_page),
        reused_from=reused.page_id if reused else None,
        is_personal=is_personal,
    )


def _text_facts(
    address: Address, document: Document, known: TextFacts | None, *, is_page: bool
) -> TextFacts:
    text, is_read = document.text, not document.unread or document is COPY
    if not is_page or document.is_sitemap or not (text or is_read):
        return TextFacts(text)
    is_listed = bool(list_address(address))
    return known or TextFacts(text, address.url, document.title, has_key=True, is_listed=is_listed)


def _digests(fetched: Fetched, page: ReadPage | None) -> ContentMarks:
    """The fingerprint of a document, and its SHA-256 if it counts as content. A rendered page has
    those of what was read: scripts make different pages of one answer, and DOMs of one page differ.
    """
    is_content = bool(fetched.body) and (
        200 <= fetched.status < 300 or fetched.unchanged_since is not None
    )
    fingerprint, digest = xxh3_64(), sha256()
    for piece in fetched.body.pieces():
        fingerprint.update(piece)
        if is_content:
            digest.update(piece)
    body_digest = digest.digest() if is_content else b""
    if page and page.is_rendered and page.document:
        fingerprint, digest = xxh3_64(), sha256()
        for piece in _content(page.document):
            fingerprint.update(piece)
            digest.update(piece)
    mark = signed_64_bits(fingerprint.intdigest())
    return ContentMarks(mark, digest.digest() if is_content else b"", body_digest)


def _content(document: Document) -> Iterable[bytes]:
    for text in (document.title, document.text, *(link.url for link in document.links)):
        yield text.encode("utf-8", "replace") + b"\0"


def _summary(document: Document, stated_charset: str | None) -> DocumentSummary:
    return DocumentSummary(
        charset=document.charset or (stated_charset or "").replace("\0", ""),
        title=document.title,
        author=document.metadata.author,
        description=document.metadata.description,
        language=document.metadata.language,
        canonical=document.metadata.canonical,
        links=len(document.links),
        needs_browser=document.needs_browser,
        unread=document.unread or "",
        extracted=document.extracted,
    )
