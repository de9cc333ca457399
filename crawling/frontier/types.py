"""Links on their way into a run's frontier, those that a rule kept out of it, and what became of
one try at a URL, from the fetch through the archive to the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from crawling.models import UrlState
from crawling.orders.scope.filters import Rule
from crawling.orders.scope.trap_patterns import Pattern
from crawling.web.addresses import Address
from crawling.web.content.text_facts import NO_TEXT, TextFacts
from crawling.web.exchanges import Exchange

Digest = bytes


@dataclass(frozen=True, slots=True)
class Candidate:
    address: Address
    depth: int
    #: id of the URL row of the page that it was found on; None: a seed
    via: int | None
    #: how many there were in a row
    redirects: int = 0
    pattern: int | None = None
    #: the suspicious pattern that it is quarantined for
    trap: Pattern | None = None
    #: whether it stands on that page, and is no directory above it
    is_link: bool = True
    #: links in a row outside the scope, this one included
    hops: int = 0
    #: sitemap indexes in a row that led here, a robots.txt that names sitemaps among them; with any
    #: it is a sitemap, and the depth is that of the pages that it lists
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
    #: id of the URL row of the page that it was met on
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
    #: how many it has
    links: int = 0
    needs_browser: bool = False
    #: why it was not read
    unread: str = ""
    #: names and values that the order's rules took out of it
    extracted: Sequence[tuple[str, str]] = ()


NO_SUMMARY = DocumentSummary()


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The answer of a server; becomes the page's row, whose fields say what each is."""

    status: int
    final_url: str
    content_type: str
    bytes: int
    fingerprint: int
    address: str
    fetch_seconds: float
    fetched_at: datetime
    #: b"" where the content counts for nothing, as an error's
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

    @property
    def received_bytes(self) -> int:
        """The bytes of the document on the wire: nothing of one that is as it was."""
        return 0 if self.unchanged_since else self.bytes


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The links of a page, also those that are not followed, for
    `crawling.web.documents.written_links.links_in`.
    """

    url: str
    base: str
    charset: str
    written: bytes


class PageTargetMarks(NamedTuple):
    """The fingerprints of all addresses that a page leads to, admitted or not."""

    #: for which they are
    depth: int
    links: Sequence[int]
    redirect: int | None


@dataclass(frozen=True, slots=True)
class UrlOutcome:
    url_id: int
    state: UrlState
    status: int
    error: str = ""
    #: if set, it goes back to the queue, and is not tried again before then
    retry_seconds: float | None = None
    #: whether it was not asked for, which counts as no try
    is_untried: bool = False
    answer: ServerAnswer | None = None
    links: Sequence[Candidate] = field(default_factory=tuple)
    refusals: Sequence[Refusal] = ()
    captured: CapturedExchange | None = None
    page_links: PageLinks | None = None
    #: sentences for the log, of what its site's robots.txt names and cannot be followed
    bad_maps: Sequence[str] = ()
    #: where the page leads, of a run with a limited depth
    targets: PageTargetMarks | None = None
    #: when other URLs were changed last, as the page states
    modified: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArchiveLocation:
    """Where the archive has it: the record's file, offset and length there."""

    file_id: int
    offset: int
    length: int
    payload_sha256: bytes
    #: the payload is in another record
    is_revisit: bool
    #: id of the URL in whose page's record the payload is, if that is another run's
    payload_from: int | None = None
    #: bytes that the archive does not hold a second time
    saved: int = 0


@dataclass(eq=False, slots=True)
class CapturedExchange:
    url: str
    #: None where it is no link's end
    depth: int | None
    attempts: int
    exchange: Exchange
    #: id of the earlier page whose document the server says is still right
    unchanged_since: int | None = None
    #: whether a page's row will point at it; at a robots.txt none does
    has_page: bool = True
    #: all that the document leads to, followed or not
    outlinks: Sequence[str] = ()
    #: the payload's, where it is known already
    sha256: bytes = b""
    #: set once it is kept
    place: ArchiveLocation | None = None
