"""Fetch one document over HTTP: what came back, or which of our negative codes says why nothing did (SEEDS B1, B2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from tempfile import SpooledTemporaryFile
from typing import IO

from urllib3.exceptions import HTTPError, NewConnectionError, SSLError, TimeoutError

from crawling.fetchers.cookies import Cookies
from crawling.fetchers.dial import PinnedSession
from crawling.fetchers.egress import ProxyFailed, Way
from crawling.fetchers.progress import say
from crawling.fetchers.room import Room
from crawling.fetchers.wire import PIECE_BYTES, Incoming
from crawling.models import Page
from crawling.rules.exchanges import Exchange
from crawling.rules.secrets import masked_request
from crawling.rules.statuses import FetchStatus
from crawling.rules.steps import Step

#: a payload for the archive is kept in memory up to this size, and on disk beyond it (SEEDS W7)
SPOOL_BYTES = 128 * 1024


#: asked of the head of an answer that has a document: its type and stated length; None: it may be read, otherwise why not
Judge = Callable[[str, int | None], tuple[FetchStatus, str] | None]


@dataclass(frozen=True, slots=True)
class Fetched:
    """status: HTTP's, or a negative FetchStatus with the reason in `error`. The body is decoded.

    http_status: HTTP's own whatever became of the body; 0 without an answer.
    is_of_robots: it is the answer for robots.txt that stands for the document's.
    exchange: the bytes themselves, of an answer that came whole, if they were to be kept; to be closed.
    unchanged_since: id of the earlier page whose body and headers these are, since the server says that they still hold.
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
    unchanged_since: int | None = None
    reused: Page | None = None

    def close(self) -> None:
        """Let the exchange go, for an answer that nothing is made of."""
        if self.exchange:
            self.exchange.close()

    def without_exchange(self) -> Fetched:
        self.close()
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


@dataclass(frozen=True, slots=True)
class How:
    """What a request is beside its URL and headers. The defaults are those of every request that an order says nothing of.

    timeouts: for connecting, and for the answer to begin. way: through a proxy. cookies: the host's, sent and kept.
    hidden: names, in small letters, of headers whose values no record may have.
    """

    timeouts: tuple[float, float] = (5.0, 5.0)
    body: bytes | None = None
    way: Way | None = None
    cookies: Cookies | None = None
    hidden: frozenset[str] = frozenset()

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"


AS_USUAL = How()


def fetch(
    session: PinnedSession,
    url: str,
    *,
    address: str,
    headers: Mapping[str, str],
    max_bytes: int,
    received: Callable[[int], None] = lambda count: None,
    room: Room | None = None,
    keep: bool = False,
    how: How = AS_USUAL,
    judge: Judge | None = None,
) -> Fetched:
    """Fetch a URL from a vetted address. Never raises for what a server does.

    `received` is told how many bytes have come, as they came, head and encoding included, and may wait, so that bandwidth stays
    within what was granted.
    room: where the body is kept, which the caller leaves when it is done. keep: hand on the exchange, too.
    judge: says of an answer's head whether to read on.
    """
    reader = _Reader(max_bytes, received, room or Room())
    if not keep:
        return _fetch(session, url, address, headers, reader, how, judge, None)
    payload: IO[bytes] = SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115  # whoever gets the exchange closes it
    fetched = None
    try:
        fetched = _fetch(session, url, address, headers, reader, how, judge, payload)
        return fetched
    finally:
        if fetched is None or fetched.exchange is None:
            payload.close()


def _fetch(
    session: PinnedSession,
    url: str,
    address: str,
    headers: Mapping[str, str],
    reader: _Reader,
    how: How,
    judge: Judge | None,
    payload: IO[bytes] | None,
) -> Fetched:
    started = time.monotonic()
    say(Step.FETCHING, url)
    if how.cookies and (cookie := how.cookies.header(url)):
        headers = {**headers, "Cookie": cookie}
    try:
        with session.get_pinned(
            url, address=address, headers=headers, timeout=how.timeouts, method=how.method, body=how.body, way=how.way
        ) as response:
            if how.cookies:
                how.cookies.take(url, response.headers)
            answered = response.headers
            if judge and (unwanted := _unwanted(response.status, answered, judge)):
                return Fetched(unwanted[0], answered, b"", time.monotonic() - started, unwanted[1], response.status)
            say(Step.READING)
            body = reader.read(response, payload)
            seconds = time.monotonic() - started
            if body is None or len(body) > reader.most:
                status = FetchStatus.MEMORY_BUSY if body is None else FetchStatus.TOO_BIG
                return Fetched(status, answered, body or b"", seconds, status.sentence, response.status)
            exchange = None if payload is None else _exchange(response, payload, how)
            return Fetched(response.status, answered, body, seconds, "", response.status, exchange=exchange)
    except HTTPError as trouble:
        status, error = why_not(trouble), str(trouble)
    return Fetched(status, seconds=time.monotonic() - started, error=error[:500].replace("\0", ""))


def _exchange(answer: Incoming, payload: IO[bytes], how: How) -> Exchange:
    request = masked_request(answer.sent_bytes, how.hidden)
    return Exchange(request, answer.head_bytes, payload, is_plain="Content-Encoding" not in answer.headers)


def _unwanted(status: int, headers: Mapping[str, str], judge: Judge) -> tuple[FetchStatus, str] | None:
    if not 200 <= status < 300:
        return None
    return judge(Fetched(status, headers).content_type, _stated_length(headers))


def _stated_length(headers: Mapping[str, str]) -> int | None:
    """What Content-Length says, if it says something."""
    stated = headers.get("Content-Length", "")
    return int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 19 else None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads bodies of at most so many bytes."""

    most: int
    received: Callable[[int], None]
    room: Room

    def read(self, response: Incoming, payload: IO[bytes] | None) -> bytes | None:
        """The body, or as much of it as shows that it is too big; None: there was no room for it. The payload gets it as it came."""
        pieces: list[bytes] = []
        total = counted = 0
        expected = self._expected(response.headers)
        for piece in response.stream(payload):
            total += len(piece)
            counted = self._count(response.count, counted)
            if not self.room.admits(total, expected):
                return None
            pieces.append(piece)
            if total > self.most:
                break
        self._count(response.count, counted)
        return b"".join(pieces)

    def _expected(self, headers: Mapping[str, str]) -> int:
        """How large the body will be, as far as one can know."""
        length = None if "Content-Encoding" in headers else _stated_length(headers)
        return min(self.most if length is None else length, self.most + PIECE_BYTES)

    def _count(self, come: int, counted: int) -> int:
        if come > counted:
            self.received(come - counted)
        return come


def why_not(trouble: HTTPError) -> FetchStatus:
    """Tell a server that accepted nothing from one that fell silent and one that broke off."""
    if isinstance(trouble, SSLError):
        return FetchStatus.TLS_FAILED
    if isinstance(trouble, NewConnectionError):
        return FetchStatus.PROXY_FAILED if isinstance(trouble, ProxyFailed) else FetchStatus.CONNECT_FAILED
    return FetchStatus.TIMED_OUT if isinstance(trouble, TimeoutError) else FetchStatus.BROKEN_ANSWER
