"""What all toes of a shift share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from crawling.documents.base import Reading
from crawling.fetchers.bandwidth import Bandwidth
from crawling.fetchers.dial import PinnedSession
from crawling.fetchers.http import Fetched, Judge, fetch
from crawling.frontier.rejudging import told
from crawling.frontier.seen import Seen
from crawling.frontier.verdicts import Refusals
from crawling.rules.addresses import Address
from crawling.rules.filters import Filters, Rule
from crawling.rules.robots import MAX_ROBOTS_BYTES
from crawling.rules.statuses import FetchStatus
from crawling.rules.trapgate import TrapGate
from crawling.rules.vetting import Allowed

#: what an answer may have beside its document: headers, the marks between chunks
WRAPPING_BYTES = 1024 * 1024


@dataclass
class Kit:
    """Set once by the shift, but for `filters`, `unbound` and `delay_seconds`, which it renews while toes work.

    unbound: hosts whose robots.txt does not bind this crawl, because an administrator says why.

    archives: documents' exchanges are kept.
    keep_robots(origin, status, body): hands a fetched robots.txt to the shift, which stores it.
    """

    token: str
    user_agent: str
    filters: Filters
    delay_seconds: float
    max_document_bytes: int
    bandwidth: Bandwidth
    allowed: list[Allowed]
    forbidden: frozenset[tuple[str, int]]
    keep_robots: Callable[[str, int, bytes], None]
    answer_seconds: float = 60.0
    archives: bool = False
    traps: TrapGate = field(default_factory=TrapGate)
    reading: Reading = field(default_factory=Reading)
    seen: Seen = field(default_factory=Seen)
    refusals: Refusals = field(default_factory=Refusals)
    unbound: frozenset[str] = frozenset()
    session: PinnedSession = field(init=False)
    ending: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.session = PinnedSession(
            answer_seconds=self.answer_seconds, answer_bytes=max(self.max_document_bytes, MAX_ROBOTS_BYTES) + WRAPPING_BYTES
        )

    def get(self, address: Address, dial: str, max_bytes: int | None = None, *, keep: bool = False, judge: Judge | None = None) -> Fetched:
        """Fetch from a vetted address, within the shift's bandwidth."""
        headers = {"User-Agent": self.user_agent, "Accept": "*/*", "Accept-Encoding": "gzip, deflate", "Connection": "keep-alive"}
        return fetch(
            self.session,
            address.url,
            address=dial,
            headers=headers,
            max_bytes=max_bytes or self.max_document_bytes,
            received=self._received,
            keep=keep,
            judge=judge,
        )

    def get_document(self, address: Address, dial: str) -> Fetched:
        """Fetch a URL of the crawl's: no more of it than its filters let in."""
        most = min(self.max_document_bytes, self.filters.max_document_bytes or self.max_document_bytes)
        fetched = self.get(address, dial, most, keep=self.archives, judge=self._judge_answer)
        if fetched.status == FetchStatus.TOO_BIG and most < self.max_document_bytes:
            return replace(fetched, status=FetchStatus.TOO_LARGE, error=f"{FetchStatus.TOO_LARGE.sentence} (more than {most:,} bytes)")
        return fetched

    def _judge_answer(self, content_type: str, length: int | None) -> tuple[FetchStatus, str] | None:
        ruling = self.filters.judge_answer(content_type, length)
        if ruling is None:
            return None
        return FetchStatus.WRONG_TYPE if ruling.rule is Rule.TYPE else FetchStatus.TOO_LARGE, told(ruling)

    def pause(self, seconds: float) -> None:
        """Wait, but no longer than the shift lasts: it has seconds to end in."""
        if seconds > 0:
            self.ending.wait(seconds)

    def _received(self, count: int) -> None:
        self.pause(self.bandwidth.take(count))
