"""Fetch one document over HTTP: what came back, or which of our negative codes says why nothing did (SEEDS B1, B2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import requests
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from crawling.fetchers.dial import PinnedSession
from crawling.fetchers.tee import tee_encoded
from crawling.models import Page
from crawling.rules.exchanges import Exchange
from crawling.rules.statuses import FetchStatus

TIMEOUTS = (5.0, 5.0)
CHUNK_BYTES = 64 * 1024
#: a payload for the archive is kept in memory up to this size, and on disk beyond it (SEEDS W7)
SPOOL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Fetched:
    """status: HTTP's, or a negative FetchStatus with the reason in `error`. The body is decoded.

    http_status: HTTP's own whatever became of the body; 0 without an answer.
    is_of_robots: it is the answer for robots.txt that stands for the document's.
    exchange: the bytes themselves, of an answer that came whole, if they were to be kept; to be closed.
    reused: the page of another crawl that this answer was.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0
    error: str = ""
    http_status: int = 0
    is_of_robots: bool = False
    exchange: Exchange | None = None
    reused: Page | None = None

    def without_exchange(self) -> Fetched:
        if self.exchange:
            self.exchange.close()
        return replace(self, exchange=None)

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def location(self) -> str:
        """Where a redirect leads, "" if it does not say; servers write UTF-8 there, headers are read as latin-1."""
        return self.headers.get("Location", "").encode("latin-1").decode(errors="replace")

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
    keep: bool = False,
) -> Fetched:
    """Fetch a URL from a vetted address. Never raises for what a server does.

    `received` is told each piece's size and may wait, so that bandwidth stays within what was granted.
    keep: hand on the exchange, too.
    """
    if not keep:
        return _fetch(session, url, address, headers, max_bytes, received, None)
    payload: IO[bytes] = SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115  # whoever gets the exchange closes it
    fetched = None
    try:
        fetched = _fetch(session, url, address, headers, max_bytes, received, payload)
        return fetched
    finally:
        if fetched is None or fetched.exchange is None:
            payload.close()


def _fetch(
    session: PinnedSession,
    url: str,
    address: str,
    headers: Mapping[str, str],
    max_bytes: int,
    received: Callable[[int], None],
    payload: IO[bytes] | None,
) -> Fetched:
    started = time.monotonic()
    try:
        with session.get_pinned(url, address=address, headers=headers, timeout=TIMEOUTS) as response:
            body = _read(response, max_bytes, received, payload)
            seconds = time.monotonic() - started
            if len(body) > max_bytes:
                status = FetchStatus.TOO_BIG
                return Fetched(status, response.headers, body, seconds, status.sentence, response.status_code)
            raw: Any = response.raw
            exchange = None if payload is None else Exchange(raw.sent_bytes, raw.head_bytes, payload)
            return Fetched(response.status_code, response.headers, body, seconds, "", response.status_code, exchange=exchange)
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
    return Fetched(status, seconds=time.monotonic() - started, error=error[:500].replace("\0", ""))


def _read(response: requests.Response, max_bytes: int, received: Callable[[int], None], payload: IO[bytes] | None) -> bytes:
    """The body, or as much of it as shows that it is too big; the payload gets it as it came."""
    pieces: list[bytes] = []
    total = 0
    is_encoded = payload is not None and tee_encoded(response.raw, payload)
    for piece in response.iter_content(CHUNK_BYTES):
        pieces.append(piece)
        total += len(piece)
        received(len(piece))
        if payload is not None and not is_encoded:
            payload.write(piece)
        if total > max_bytes:
            break
    return b"".join(pieces)


def _why_not_connected(trouble: requests.exceptions.ConnectionError) -> FetchStatus:
    """Tell a server that accepted nothing from one that fell silent in mid-body and one that broke off."""
    cause = trouble.args[0] if trouble.args else None
    if isinstance(cause, ReadTimeoutError):
        return FetchStatus.TIMED_OUT
    return FetchStatus.BROKEN_ANSWER if isinstance(cause, ProtocolError) else FetchStatus.CONNECT_FAILED
