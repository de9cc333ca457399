"""Fetch one document over HTTP: the answer, or one of our negative codes if there is none (SEEDS
B1, B2).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum, auto
from http import HTTPStatus
from threading import Lock
from typing import NamedTuple, cast
from urllib.parse import quote

from requests import Response
from requests.exceptions import ContentDecodingError, RequestException

from crawling.web.addresses import canonical_address
from crawling.web.content.media_types import START_BYTES, document_type, is_sniffable, stated_type
from crawling.web.document_stream import NO_DOCUMENT, DocumentStream, new_spool
from crawling.web.exchanges import Exchange
from crawling.web.fetch.adapter import PinnedRequest, PinnedSession, ResponseBody
from crawling.web.fetch.cookies import Cookies, merge_page_cookies
from crawling.web.fetch.progress import FetchStep, report_step
from crawling.web.fetch.transfer_errors import StaleConnection, fetch_status_of_fault
from crawling.web.politeness import read_retry_after
from crawling.web.proxies import ProxyRoute
from crawling.web.secret_headers import masked_request
from crawling.web.statuses import FetchStatus

#: Documents larger than this, compressed or not, are decompressed one at a time in a process, since
#: a decoder remembers up to 16 MiB of its output. With one interpreter lock this costs no time.
MOST_BESIDE = 256 * 1024
UNPACKING = Lock()
PARTIAL = "The server sent a part of the document (206), which was not asked for."
WHOLE_RANGE = re.compile(r"bytes 0-([0-9]{1,18})/([0-9]{1,18})", re.IGNORECASE)
BROKEN_OFF = "The answer's body broke off; its status and head count."


class AnswerPart(Enum):
    """The part of an answer with a document that is to be read."""

    ALL = auto()
    HEAD = auto()


class DocumentRefusal(NamedTuple):
    """The decision not to read a document. The answer gets this status in place of the server's."""

    status: FetchStatus
    sentence: str


Judgement = AnswerPart | DocumentRefusal
#: called with the head of an answer that has a document: its type (None if only its bytes can show
#: the type) and its stated length. Called again with the document if its type was open
Judge = Callable[[str | None, int | None], Judgement]


def accept_any(content_type: str | None, length: int | None) -> Judgement:
    """Let every document be read."""
    return AnswerPart.ALL


@dataclass(frozen=True, slots=True)
class ReusedAnswer:
    """An earlier answer that is used again: the id of its page, the IP address of its server, and
    its time.
    """

    page_id: int
    address: str
    fetched_at: datetime


@dataclass(frozen=True, slots=True)
class Fetched:
    #: an HTTP status, or a negative FetchStatus
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    #: decoded
    body: DocumentStream = NO_DOCUMENT
    seconds: float = 0.0
    #: the reason for a negative status
    error: str = ""
    #: the HTTP status, even if the body failed; 0 without an answer
    http_status: int = 0
    #: the bytes of a complete answer, if they are to be kept
    exchange: Exchange | None = None
    #: id of the earlier page whose body and headers these are, because the server confirmed them
    unchanged_since: int | None = None
    #: the page of another crawl, or of an earlier run, that served as the answer
    reused: ReusedAnswer | None = None
    #: whether a reused connection was closed before the answer began; another request then does not
    #: count as a second try
    is_stale: bool = False
    #: whether the body is only a part of the document
    is_partial: bool = False
    #: the end of the server's certificate, if a connection was made
    certificate_ends_at: datetime | None = None

    def close(self) -> None:
        """Close the answer and its exchange."""
        self.body.close()
        if self.exchange:
            self.exchange.close()

    def drop_exchange(self) -> Fetched:
        if self.exchange:
            self.exchange.close()
        return replace(self, exchange=None)

    def with_document_in_memory(self, most: int) -> Fetched:
        """The answer with the beginning of its document. It need not be closed."""
        body = DocumentStream.of(self.body.start(most))
        self.body.close()
        return replace(self, body=body)

    @property
    def content_type(self) -> str:
        """The answer's type, as the server states it or the first bytes show it; "" if neither
        does.
        """
        return document_type(
            self.headers.get("Content-Type", ""),
            self.body.start(START_BYTES),
            options=self.headers.get("X-Content-Type-Options", ""),
        )

    @property
    def location(self) -> str:
        """A redirect's target; "" if it names none. Servers write any bytes there, which are sent
        back unchanged, since headers are read as latin-1.
        """
        return quote(self.headers.get("Location", "").encode("latin-1"), safe=bytes(range(128)))

    @property
    def retry_after(self) -> float | None:
        """The seconds for which the server asks the crawler to wait; None if it states none."""
        asked, answered = self.headers.get("Retry-After", ""), self.headers.get("Date", "")
        return read_retry_after(asked, datetime.now(UTC), answered=answered) if asked else None

    @property
    def charset(self) -> str | None:
        return stated_type(self.headers.get("Content-Type", "")).charset or None


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """A request's method, form and further options.

    The defaults apply to requests without settings in the order.
    """

    #: seconds for connecting, and until the answer begins
    timeouts: tuple[float, float] = (5.0, 5.0)
    body: bytes | None = None
    #: empty for GET, or POST with a body
    other_method: str = ""
    #: the type of the body; empty if it is derived from the body
    body_type: str = ""
    #: whether the query has secrets, which no page may show
    hides_query: bool = False
    #: the proxy through which the request goes
    route: ProxyRoute | None = None
    #: the cookies of the host, which the request sends and the answer changes
    cookies: Cookies | None = None
    #: names, in lower case, of headers whose values must be in no record
    hidden: frozenset[str] = frozenset()

    @property
    def method(self) -> str:
        return self.other_method or ("GET" if self.body is None else "POST")

    def add_cookies(self, headers: Mapping[str, str], url: str) -> Mapping[str, str]:
        """The headers with the crawl's cookies; those of a page may be among them before."""
        own = self.cookies.header(canonical_address(url)) if self.cookies else ""
        cookie = merge_page_cookies(own, headers.get("Cookie", ""))
        return {**headers, "Cookie": cookie} if cookie else headers


AS_USUAL = RequestOptions()


def fetch(
    session: PinnedSession,
    url: str,
    *,
    address: str,
    headers: Mapping[str, str],
    max_bytes: int,
    received: Callable[[int], None] = lambda count: None,
    keep: bool = False,
    how: RequestOptions = AS_USUAL,
    judge: Judge = accept_any,
) -> Fetched:
    """Fetch a URL from a vetted address. Never raises because of a server.

    `received` is called with the number of bytes received, including the head, before decoding. It
    may wait, so that bandwidth stays within the grant. keep: return the exchange, too. judge:
    decides from the head of an answer whether its body is read.
    """
    started = time.monotonic()
    report_step(FetchStep.FETCHING, url.partition("?")[0] if how.hides_query else url)
    body: ResponseBody | None = None
    fetched = Fetched(FetchStatus.BROKEN_ANSWER)
    try:
        request = _send_request(url, address, headers, max_bytes, how, received, judge)
        proxies = {"all": how.route.url} if how.route else None
        response = session.send(request, timeout=how.timeouts, proxies=proxies)
        body = cast(ResponseBody, response.raw)
        fetched = _read_response(response, started, max_bytes, how, judge, keep=keep)
        if body.certificate_ends_at:
            fetched = replace(fetched, certificate_ends_at=body.certificate_ends_at)
    except RequestException as fault:
        fetched = failed_fetch(fault, time.monotonic() - started)
    finally:
        if body:
            body.close()
    return fetched


def _send_request(
    url: str,
    address: str,
    headers: Mapping[str, str],
    most: int,
    how: RequestOptions,
    received: Callable[[int], None],
    judge: Judge,
) -> PinnedRequest:
    return PinnedRequest(
        url,
        address=address,
        headers=how.add_cookies(headers, url),
        method=how.method,
        body=how.body,
        most=most,
        is_proxy_trusted=how.route is not None and how.route.proxy.is_trusted,
        received=received,
        wants=lambda status, fields: _wanted_part(status, fields, judge) is AnswerPart.ALL,
    )


def failed_fetch(fault: RequestException, seconds: float) -> Fetched:
    """The result of a fault, with its message. A text from the server is cut to a bounded
    length.
    """
    status, is_stale = fetch_status_of_fault(fault), isinstance(fault, StaleConnection)
    error = f"{status.sentence} ({fault})"[:500].replace("\0", "")
    return Fetched(status, seconds=seconds, error=error, is_stale=is_stale)


def _read_response(
    response: Response,
    started: float,
    most: int,
    how: RequestOptions,
    judge: Judge,
    *,
    keep: bool,
) -> Fetched:
    body = cast(ResponseBody, response.raw)
    answered, http_status = body.headers, response.status_code
    if how.cookies and "Set-Cookie" in answered:
        how.cookies.take(canonical_address(response.url), answered.getlist("Set-Cookie"))
    seconds = time.monotonic() - started
    judgement = _wanted_part(http_status, answered, judge)
    if judgement is not AnswerPart.ALL:
        return _fetched_without_document(http_status, answered, seconds, judgement)
    document, error, is_whole = _read_document(body, most)
    if http_status == HTTPStatus.PARTIAL_CONTENT and not _is_whole_document(answered):
        is_whole, error = False, error or PARTIAL
    if not isinstance(error, FetchStatus) and _may_be_sniffed(http_status, answered):
        judgement = judge(Fetched(http_status, answered, document).content_type, None)
        if judgement is not AnswerPart.ALL:
            document.close()
            return _fetched_without_document(http_status, answered, seconds, judgement)
    if isinstance(error, FetchStatus):
        if 200 <= http_status < 300:
            return Fetched(error, answered, document, seconds, error.sentence, http_status)
        error = error.sentence
    return Fetched(
        http_status,
        answered,
        document,
        seconds,
        error,
        http_status,
        _exchange(body, how.hidden, is_whole=is_whole) if keep else None,
        is_partial=not is_whole,
    )


def _fetched_without_document(
    http_status: int, headers: Mapping[str, str], seconds: float, judgement: Judgement
) -> Fetched:
    status, told = judgement if isinstance(judgement, DocumentRefusal) else (http_status, "")
    return Fetched(status, headers, NO_DOCUMENT, seconds, told, http_status)


def _exchange(body: ResponseBody, hidden: frozenset[str], *, is_whole: bool) -> Exchange:
    return Exchange(
        masked_request(body.request, hidden),
        body.head,
        body.document(),
        is_plain="Content-Encoding" not in body.headers,
        is_cut_short=not is_whole,
    )


class _Document(NamedTuple):
    """A decoded body, or its beginning and the reason why the rest is missing."""

    content: DocumentStream
    #: the fault of the answer, which is a status if there is no document
    error: FetchStatus | str = ""
    is_whole: bool = True


def _read_document(body: ResponseBody, most: int) -> _Document:
    """The document; empty if it is compressed and too large as received."""
    is_packed = "Content-Encoding" in body.headers
    if body.size > most:
        shown = NO_DOCUMENT if is_packed else body.document()
        return _Document(shown, FetchStatus.TOO_BIG, is_whole=False)
    if not is_packed:
        note = BROKEN_OFF if body.is_broken_off else ""
        return _Document(body.document(), note, is_whole=not body.is_broken_off)
    return _read_decoded(body, most)


def _read_decoded(body: ResponseBody, most: int) -> _Document:
    pieces, unpacked, size = body.stream(), new_spool(), 0
    status: FetchStatus | None = None
    with ExitStack() as alone, ExitStack() as faulty:
        faulty.callback(unpacked.close)
        if body.size > MOST_BESIDE:
            alone.enter_context(UNPACKING)
        try:
            for piece in pieces:
                if body.size <= MOST_BESIDE and size <= MOST_BESIDE < size + len(piece):
                    alone.enter_context(UNPACKING)
                unpacked.write(piece)
                size += len(piece)
                if size > most:
                    status = FetchStatus.TOO_BIG
                    break
        except ContentDecodingError:
            status = FetchStatus.UNDECODABLE
        faulty.pop_all()
    is_whole = status is None and not pieces.is_cut_short and not body.is_broken_off
    note = BROKEN_OFF if body.is_broken_off else pieces.note
    return _Document(DocumentStream(unpacked, size), status or note, is_whole)


def _is_whole_document(headers: Mapping[str, str]) -> bool:
    """Whether a partial answer contains the whole document (RFC 9110, section 14.4)."""
    part = WHOLE_RANGE.fullmatch(headers.get("Content-Range", "").strip())
    return part is not None and int(part[1]) + 1 == int(part[2])


def _wanted_part(status: int, headers: Mapping[str, str], judge: Judge) -> Judgement:
    if not 200 <= status < 300:
        return AnswerPart.ALL
    stated = stated_type(headers.get("Content-Type", "")).essence
    return judge(None if _may_be_sniffed(status, headers) else stated, _stated_length(headers))


def _may_be_sniffed(status: int, headers: Mapping[str, str]) -> bool:
    """Whether only the document itself shows its type."""
    return 200 <= status < 300 and is_sniffable(headers.get("Content-Type", ""))


def _stated_length(headers: Mapping[str, str]) -> int | None:
    stated = headers.get("Content-Length", "")
    return int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 19 else None
