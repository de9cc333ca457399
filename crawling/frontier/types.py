"""Links that may enter a run's frontier, links that a rule excluded, and the outcome of one try at
a URL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from crawling.models import UrlState
from crawling.orders.scope.filters import Rule
from crawling.orders.scope.trap_patterns import Pattern
from crawling.web.addresses import Address
from crawling.web.content.text_facts import NO_TEXT, TextFacts
from crawling.web.exchanges import Exchange
from crawling.web.statuses import RENDERINGS_ENDED, FetchStatus

Digest = bytes


@dataclass(frozen=True, slots=True)
class Candidate:
    address: Address
    depth: int
    #: id of the URL row of the page on which the link was found; None for a seed
    via: int | None
    #: the number of redirects in a row
    redirects: int = 0
    pattern: int | None = None
    #: the suspicious pattern because of which the URL is quarantined
    trap: Pattern | None = None
    #: whether the URL is a link on that page, and not a directory above the page
    is_link: bool = True
    #: the number of links in a row outside the scope, including this one
    hops: int = 0
    #: the number of sitemap indexes in a row that led here; a robots.txt that names sitemaps counts
    #: as one. If positive, the URL is a sitemap, and its depth is the depth of the pages that it
    #: lists
    nesting: int = 0
    #: the expected similarity to the topic of a focused crawl; 0 to 1
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class Refusal:
    url: str
    rule: Rule
    sentence: str
    depth: int
    #: the hops of that page
    hops: int
    #: id of the URL row of the page on which the link was found
    via: int | None
    links: int = 1


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    charset: str = ""
    title: str = ""
    author: str = ""
    description: str = ""
    language: str = ""
    canonical: str = ""
    #: the number of links of the page
    links: int = 0
    needs_browser: bool = False
    #: the reason why the page was not read
    unread: str = ""
    #: names and values that the order's rules extracted from it
    extracted: Sequence[tuple[str, str]] = ()


NO_SUMMARY = DocumentSummary()


class RenderingOutcome(NamedTuple):
    """The rendering of a page, or the reason against it, in an order that renders pages."""

    #: the value of the row's column
    verdict: int
    #: the key of the pattern of its address
    pattern: int
    #: whether it had more than the plain page; None if it was not rendered to the end
    has_gained: bool | None = None
    #: what the browser noted, for `Page.rendition`
    facts: Mapping[str, Any] | None = None
    #: of the files that the page loaded from servers
    received_bytes: int = 0

    @property
    def is_asked(self) -> bool:
        """Whether a browser began to render it."""
        return self.has_gained is not None or (
            self.verdict in RENDERINGS_ENDED and self.verdict != FetchStatus.RENDER_BUSY
        )


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The answer of a server, which becomes the page's row. The row describes the fields."""

    status: int
    final_url: str
    content_type: str
    bytes: int
    fingerprint: int
    address: str
    fetch_seconds: float
    fetched_at: datetime
    #: b"" if the content does not count, such as the content of an error
    digest: Digest = b""
    summary: DocumentSummary = NO_SUMMARY
    last_modified: datetime | None = None
    expires_at: datetime | None = None
    etag: str = ""
    unchanged_since: int | None = None
    #: the pattern of the page's URL
    pattern: Pattern | None = None
    text: TextFacts = NO_TEXT
    reused_from: int | None = None
    is_personal: bool = False
    #: None if the order renders no page
    rendered: RenderingOutcome | None = None

    @property
    def received_bytes(self) -> int:
        """The number of bytes of the document that were received, none for an unchanged document,
        and of the files that it loaded in a browser.
        """
        loaded = self.rendered.received_bytes if self.rendered else 0
        return loaded + (0 if self.unchanged_since else self.bytes)


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The links of a page, including links that are not followed, for
    `crawling.web.documents.written_links.resolved_links`.
    """

    url: str
    base: str
    charset: str
    written: bytes


class PageTargetMarks(NamedTuple):
    """The fingerprints of all addresses to which a page leads, admitted or not."""

    #: the depth of the page
    depth: int
    links: Sequence[int]
    redirect: int | None


@dataclass(frozen=True, slots=True)
class UrlOutcome:
    url_id: int
    state: UrlState
    status: int
    error: str = ""
    #: if set, the URL goes back to its queue, and is tried again after this time at the earliest
    retry_seconds: float | None = None
    #: whether no request was made, so that this does not count as a try
    is_untried: bool = False
    answer: ServerAnswer | None = None
    links: Sequence[Candidate] = field(default_factory=tuple)
    refusals: Sequence[Refusal] = ()
    captured: CapturedExchange | None = None
    page_links: PageLinks | None = None
    #: sentences for the log about sitemaps that the site's robots.txt names and that cannot be
    #: followed
    bad_maps: Sequence[str] = ()
    #: the page's targets, in a run with a depth limit
    targets: PageTargetMarks | None = None
    #: the times at which other URLs last changed, as the page states
    modified: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArchiveLocation:
    """The place of the record in the archive: its file, offset and length."""

    file_id: int
    offset: int
    length: int
    payload_sha256: bytes
    #: whether another record has the payload
    is_revisit: bool
    #: id of the URL with the page whose record has the payload, if that URL belongs to another run
    payload_from: int | None = None
    #: bytes saved because the archive already had the payload
    saved: int = 0


@dataclass(eq=False, slots=True)
class CapturedExchange:
    url: str
    #: None if no link led to the URL
    depth: int | None
    attempts: int
    exchange: Exchange
    #: id of the earlier page whose document the server confirms
    unchanged_since: int | None = None
    #: whether a page's row will refer to the record, which is not so for a robots.txt
    has_page: bool = True
    #: all links of the document, followed or not
    outlinks: Sequence[str] = ()
    #: the payload's SHA-256, if it is already known
    sha256: bytes = b""
    #: the records of what a browser made of the document, by kind
    derived: Mapping[str, CapturedExchange] = field(default_factory=dict)
    #: set once the record is written
    place: ArchiveLocation | None = None
