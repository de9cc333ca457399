"""Fetch one document over HTTP: what came back, or which of our negative codes says why nothing did (SEEDS B1, B2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import requests

from crawling.fetchers.dial import PinnedSession
from crawling.rules.statuses import FetchStatus

TIMEOUTS = (5.0, 5.0)
#: a server that sends a little every few seconds must not hold a toe for ever
MAX_DOCUMENT_SECONDS = 60.0
CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Fetched:
    """status: HTTP's, or a negative FetchStatus with the reason in `error`. The body is decoded.

    is_of_robots: it is the answer for robots.txt that stands for the document's.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0
    error: str = ""
    is_of_robots: bool = False

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        """The character set that the Content-Type names."""
        for parameter in self.headers.get("Content-Type", "").split(";")[1:]:
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "charset":
                return value.strip(" \"'") or None
        return None


def fetch(
    session: PinnedSession,
    url: str,
    *,
    address: str,
    headers: Mapping[str, str],
    max_bytes: int,
    received: Callable[[int], None] = lambda count: None,
) -> Fetched:
    """Fetch a URL from a vetted address. Never raises for what a server does.

    `received` is told each piece's size and may wait, so that bandwidth stays within what was granted.
    """
    started = time.monotonic()
    try:
        with session.get_pinned(url, address=address, headers=headers, timeout=TIMEOUTS) as response:
            body, refusal = _read(response, max_bytes, started + MAX_DOCUMENT_SECONDS, received)
            status, error = (refusal, refusal.sentence) if refusal else (response.status_code, "")
            return Fetched(status, response.headers, body, time.monotonic() - started, error)
    except requests.exceptions.SSLError as trouble:
        status, error = FetchStatus.TLS_FAILED, str(trouble)
    except requests.exceptions.Timeout as trouble:
        status, error = FetchStatus.TIMED_OUT, str(trouble)
    except requests.exceptions.ChunkedEncodingError as trouble:
        status, error = FetchStatus.BROKEN_ANSWER, str(trouble)
    except requests.exceptions.ConnectionError as trouble:
        status, error = _why_not_connected(trouble), str(trouble)
    except requests.exceptions.RequestException as trouble:
        status, error = FetchStatus.BROKEN_ANSWER, str(trouble)
    return Fetched(status, seconds=time.monotonic() - started, error=error[:500])


def _read(response: requests.Response, max_bytes: int, until: float, received: Callable[[int], None]) -> tuple[bytes, FetchStatus | None]:
    """The body, or what came of it before it proved too big or too slow, and which of the two it was."""
    pieces: list[bytes] = []
    total = 0
    for piece in response.iter_content(CHUNK_BYTES):
        pieces.append(piece)
        total += len(piece)
        received(len(piece))
        if total > max_bytes:
            return b"".join(pieces), FetchStatus.TOO_BIG
        if time.monotonic() > until:
            return b"".join(pieces), FetchStatus.TIMED_OUT
    return b"".join(pieces), None


def _why_not_connected(trouble: requests.exceptions.ConnectionError) -> FetchStatus:
    """Tell a server that accepted nothing from one that broke off."""
    return FetchStatus.BROKEN_ANSWER if "aborted" in str(trouble) or "reset" in str(trouble).lower() else FetchStatus.CONNECT_FAILED
