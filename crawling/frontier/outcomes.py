"""What became of one try at a URL, from the fetch to the row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from crawling.frontier.captured_exchange import CapturedExchange
from crawling.frontier.types import Candidate, Refusal
from crawling.models import UrlState
from crawling.scope.trap_patterns import Pattern

Digest = bytes


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """What a server answered; becomes the page's row, whose fields say what each is."""

    status: int
    final_url: str
    content_type: str
    charset: str
    title: str
    bytes: int
    fingerprint: int
    address: str
    fetch_seconds: float
    fetched_at: datetime
    #: b"" where the content counts for nothing, as an error's
    digest: Digest = b""
    simhash: int | None = None
    canonical: str = ""
    author: str = ""
    description: str = ""
    abstract: str = ""
    language: str = ""
    links: int = 0
    needs_browser: bool = False
    unread: str = ""
    last_modified: datetime | None = None
    expires_at: datetime | None = None
    etag: str = ""
    unchanged_since: int | None = None
    #: of the page's URL
    pattern: Pattern | None = None
    extracted: Sequence[tuple[str, str]] = ()
    reused_from: int | None = None
    is_personal: bool = False

    @property
    def received_bytes(self) -> int:
        """What came over the wire of the document: nothing of one that is as it was."""
        return 0 if self.unchanged_since else self.bytes


@dataclass(frozen=True, slots=True)
class UrlOutcome:
    """What became of one try at a URL. With `retry_seconds` it goes back to the queue, not before
    then.
    """

    url_id: int
    state: UrlState
    status: int
    error: str = ""
    retry_seconds: float | None = None
    answer: ServerAnswer | None = None
    links: Sequence[Candidate] = field(default_factory=tuple)
    refusals: Sequence[Refusal] = ()
    parcel: CapturedExchange | None = None
