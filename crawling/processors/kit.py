"""What all toes of a shift share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from crawling.documents.base import Reading
from crawling.fetchers.bandwidth import Bandwidth
from crawling.fetchers.dial import PinnedSession
from crawling.fetchers.http import Fetched, fetch
from crawling.frontier.seen import Seen
from crawling.rules.addresses import Address
from crawling.rules.robots import MAX_ROBOTS_BYTES
from crawling.rules.scope import Scope
from crawling.rules.trapgate import TrapGate
from crawling.rules.vetting import Allowed

#: what an answer may have beside its document: headers, the marks between chunks
WRAPPING_BYTES = 1024 * 1024


@dataclass
class Kit:
    """Set once by the shift, but for `scope`, `delay_seconds` and `blocked`, which it renews while toes work.

    archives: documents' exchanges are kept.
    blocked: names of hosts that nobody may fetch from.
    keep_robots(origin, status, body): hands a fetched robots.txt to the shift, which stores it.
    """

    token: str
    user_agent: str
    scope: Scope
    delay_seconds: float
    max_document_bytes: int
    bandwidth: Bandwidth
    allowed: list[Allowed]
    forbidden: frozenset[tuple[str, int]]
    keep_robots: Callable[[str, int, bytes], None]
    answer_seconds: float = 60.0
    archives: bool = False
    blocked: frozenset[str] = frozenset()
    traps: TrapGate = field(default_factory=TrapGate)
    reading: Reading = field(default_factory=Reading)
    seen: Seen = field(default_factory=Seen)
    session: PinnedSession = field(init=False)
    ending: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.session = PinnedSession(
            answer_seconds=self.answer_seconds, answer_bytes=max(self.max_document_bytes, MAX_ROBOTS_BYTES) + WRAPPING_BYTES
        )

    def get(self, address: Address, dial: str, max_bytes: int | None = None, *, keep: bool = False) -> Fetched:
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
        )

    def pause(self, seconds: float) -> None:
        """Wait, but no longer than the shift lasts: it has seconds to end in."""
        if seconds > 0:
            self.ending.wait(seconds)

    def _received(self, count: int) -> None:
        self.pause(self.bandwidth.take(count))
