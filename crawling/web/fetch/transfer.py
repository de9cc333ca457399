"""One transfer by libcurl: its callbacks store the bytes, and end transfers that take too long."""

from __future__ import annotations

import socket as sockets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from socket import AF_INET, IPPROTO_TCP, SOCK_STREAM, socket
from typing import Any, NamedTuple

import pycurl
from requests.exceptions import (
    ChunkedEncodingError,
    InvalidHeader,
    ReadTimeout,
    RequestException,
)
from urllib3 import HTTPHeaderDict

from crawling.web.document_stream import new_spool
from crawling.web.fetch.deferred_work import do_next_deferred, do_ready_work, has_deferred_work
from crawling.web.fetch.progress import FetchStep, report_step
from crawling.web.fetch.transfer_errors import (
    AnswerTooSlow,
    ForbiddenConnect,
    StaleConnection,
    fault_of,
)
from crawling.web.http_caching import SINGLE

#: the bytes that libcurl reads at once, and so the most bytes between two waits for bandwidth
BUFFER_BYTES = 64 * 1024
#: The most lines of heads and trailers, chunks, and pieces of 16 KiB of unchunked bodies. Each
#: takes a microsecond or two, so the transfer of a body in chunks of one byte ends after half a
#: second of processor time. libcurl itself limits heads, including interim ones, to 300 KiB.
MOST_PIECES = 200_000
#: The most digits of a Content-Length. libcurl ignores one that does not fit into 63 bits.
LONGEST_LENGTH = 18
#: the first status of redirects and errors, which count by their head, even without a complete body
FIRST_WITHOUT_BODY = 300
#: the result of a callback that ends the transfer
END = -1
#: Linux's option for the figures of a connection; None on other systems
TCP_INFO: int | None = getattr(sockets, "TCP_INFO", None) if sys.platform == "linux" else None
#: the position of tcpi_bytes_received in the kernel's struct tcp_info
RECEIVED = slice(128, 136)


class TransferLimits(NamedTuple):
    #: the time for one whole answer: a server that sends a little every few seconds, in headers or
    #: body, must not hold a thread for ever
    answer_seconds: float = 60.0
    #: the bytes of one answer, with its heads: a server may send endless bytes that never become a
    #: body, such as answers of status 100 and trailers
    answer_bytes: int = 64 * 1024 * 1024
    #: the longest time between two pieces
    read_seconds: float = 5.0
    #: the longest time until the answer begins
    first_byte_seconds: float = 5.0
    #: the bytes of the body that are wanted
    most: int = sys.maxsize


@dataclass(eq=False, slots=True)
class TransferWatch:
    """Counts the bytes, and ends transfers that take too long or never end."""

    limits: TransferLimits
    #: whether everything is to end
    is_cut: Callable[[], bool]
    #: called with the number of received bytes; may wait, and that time is not counted against the
    #: server
    received: Callable[[int], None]
    #: the received bytes, heads included
    count: int = field(default=0, init=False)
    _told: int = field(default=0, init=False)
    _pieces: int = field(default=0, init=False)
    _until: float = field(default=0.0, init=False)
    _quiet_until: float = field(default=0.0, init=False)

    def begin(self) -> None:
        self._quiet_until = self._until = time.monotonic() + self.limits.answer_seconds

    def expect_answer(self) -> None:
        """Note that the request is sent now."""
        self._quiet_until = time.monotonic() + self.limits.first_byte_seconds

    def add(self, piece: bytes) -> None:
        """Count a received piece of the body, or a line."""
        self.count += len(piece)
        self._pieces += 1
        if self.count - self._told > BUFFER_BYTES:
            self.tell()

    def tell(self) -> None:
        """Report the bytes since the last call. The receiver may wait."""
        asked_at, count = time.monotonic(), self.count - self._told
        self._told += count
        if count:
            self.received(count)
            self._until += time.monotonic() - asked_at

    def excuse(self, seconds: float) -> None:
        """Do not count `seconds` against the server, since this thread did other work."""
        self._until += seconds
        self._quiet_until += seconds

    def tick(self) -> int:
        """Return a nonzero result if the transfer must end. Called after every event, and at least
        once a second, in each phase of a transfer.
        """
        now, limits = time.monotonic(), self.limits
        if self.is_cut():
            raise ChunkedEncodingError("cut off")
        if now > self._until:
            raise AnswerTooSlow(f"the whole answer took longer than {limits.answer_seconds:g} s")
        if now > self._quiet_until:
            seconds = limits.read_seconds if self._told else limits.first_byte_seconds
            raise ReadTimeout(f"the server sent nothing for {seconds:g} s")
        if self.count > limits.answer_bytes or self._pieces > MOST_PIECES:
            raise ChunkedEncodingError("the answer does not end")
        if self.count > self._told:
            self.tell()
            self._quiet_until = time.monotonic() + limits.read_seconds
        return 0


@dataclass(eq=False, slots=True)
class ConnectionGate:
    """Limits sockets to vetted addresses, and detects bytes that came early over a kept
    connection.
    """

    #: whether a socket may connect to an address and port
    may_dial: Callable[[str, int], bool]
    _opened: list[socket] = field(default_factory=list, init=False)
    _kept: int = field(default=-1, init=False)
    _before: int = field(default=0, init=False)

    def begin(self, curl: pycurl.Curl) -> None:
        self._kept = curl.getinfo(pycurl.ACTIVESOCKET)
        self._before = _bytes_received(self._kept)

    def open(self, address: Any) -> socket:
        host, port = address.addr[:2]
        if not self.may_dial(str(ip_address(host)), port):
            raise ForbiddenConnect(f"{host} port {port} may not be connected to")
        report_step(FetchStep.CONNECTING)
        self._opened.append(socket(address.family, address.socktype, address.protocol))
        return self._opened[-1]

    @property
    def has_kept(self) -> bool:
        """Whether the connection of the previous transfer still exists."""
        return self._kept >= 0

    @property
    def has_opened(self) -> bool:
        return bool(self._opened)

    def close(self) -> None:
        for each in self._opened:
            each.close()  # libcurl has duplicated it

    def is_left_over(self) -> bool:
        """Whether the bytes were sent before the request.

        TLS had read them with the end of the previous answer, and nothing was received since,
        except perhaps the server's close, which the kernel counts as a byte.
        """
        return bool(
            self._before and not self._opened and _bytes_received(self._kept) - self._before <= 1
        )


@dataclass(eq=False, slots=True)
class AnswerHead:
    #: 0 until the head is complete
    status: int = 0
    lines: list[bytes] = field(default_factory=list)
    fields: HTTPHeaderDict = field(default_factory=HTTPHeaderDict)

    def add(self, line: bytes) -> bool:
        """Add a line. Return whether the head is complete; interim answers are skipped (RFC 9110,
        15.2).
        """
        self.lines.append(line)
        if len(line) > 2 or line not in (b"\r\n", b"\n"):
            return False
        if len(self.lines) == 1:
            raise InvalidHeader("an empty line stands before the answer")
        code = self.lines[0].split(None, 2)[1]
        if len(code) != 3:  # libcurl reads three digits and ignores further digits
            raise InvalidHeader("the status is not of three digits")
        status = int(code)
        if status == 101:
            raise ChunkedEncodingError("the server changes to a protocol that was not requested")
        if 100 <= status < 200:
            self.lines.clear()
            return False
        for each in b"".join(self.lines[1:-1]).decode("latin-1").split("\n")[:-1]:
            name, _, value = each.partition(":")
            self._add_field(name.strip(), value.strip())
        length = self.fields.get("Content-Length", "").lstrip("0")
        if length.isdigit() and len(length) > LONGEST_LENGTH:
            raise InvalidHeader("Content-Length is impossibly large")
        if len(self._transfer_codings()) > 1:  # libcurl would decode them without a limit
            raise InvalidHeader("several transfer codings stand over one another")
        self.status = status
        return True

    def _add_field(self, name: str, value: str) -> None:
        if name.lower() not in SINGLE:
            self.fields.add(name, value)
        elif not self.fields.get(name):
            self.fields[name] = value

    def _transfer_codings(self) -> list[str]:
        """The codings other than chunked, which libcurl removes."""
        field = self.fields.get("Transfer-Encoding", "")
        names = (name.strip().lower() for name in field.split(",")) if field else ()
        return [name for name in names if name not in ("", "chunked", "identity")]


class Transfer:
    """The answer to one request. Its receiver closes `body`.

    may_dial(address, port): whether a socket may connect there. received: called with the number of
    received bytes. is_cut: whether everything must end. wants: decides from the head whether the
    body is read.
    """

    def __init__(
        self,
        limits: TransferLimits,
        *,
        may_dial: Callable[[str, int], bool],
        is_cut: Callable[[], bool],
        received: Callable[[int], None] = lambda count: None,
        wants: Callable[[int, HTTPHeaderDict], bool] = lambda status, fields: True,
    ) -> None:
        self.head = AnswerHead()
        self.body = new_spool()
        self._watch = TransferWatch(limits, is_cut, received)
        self._gate = ConnectionGate(may_dial)
        self._wants = wants
        self._is_asked = self._is_awaited = self._is_enough = False
        #: whether the body was cut short, although the answer is complete without it
        self.is_broken_off = False
        self._fault: BaseException | None = None

    @property
    def has_connected(self) -> bool:
        return self._gate.has_opened

    def run(self, curl: pycurl.Curl) -> None:
        """Perform the transfer. Raises requests' exceptions. An answer that was read as far as
        wanted raises nothing.
        """
        self._gate.begin(curl)
        if not self._gate.has_kept:
            do_next_deferred()  # otherwise the work would be done within the time for connecting
        for option, callback in (
            (pycurl.OPENSOCKETFUNCTION, self._open_socket),
            (pycurl.PREREQFUNCTION, self._note_request),
            (pycurl.HEADERFUNCTION, self._take_line),
            (pycurl.WRITEFUNCTION, self._take_piece),
            (pycurl.XFERINFOFUNCTION, self._note_progress),
        ):
            curl.setopt(option, self._store_faults(callback))
        self._watch.begin()
        try:
            curl.perform()
            if not self.head.status:
                raise ChunkedEncodingError("the answer breaks off in its head")
        except pycurl.error as error:
            if isinstance(self._fault, ReadTimeout) or not self._fault:
                self.is_broken_off = not self._is_enough and self._has_whole_answer_in_head()
            if self._fault and not self.is_broken_off:
                raise self._fault from None
            if not (self._is_enough or self.is_broken_off):
                raise self._fault_of(curl, error) from None
        finally:
            self._gate.close()
            self._watch.tell()

    def _has_whole_answer_in_head(self) -> bool:
        """Whether the answer counts although its body is incomplete."""
        return self.head.status >= FIRST_WITHOUT_BODY

    def _fault_of(self, curl: pycurl.Curl, error: pycurl.error) -> RequestException:
        fault = fault_of(curl, *error.args)
        # bytes that begin no answer may belong to the previous answer
        if isinstance(fault, InvalidHeader) and not self.head.lines and not self._gate.has_opened:
            return StaleConnection(f"what came over a kept connection is no answer: {fault}")
        return fault

    def _store_faults(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a callback so that its error ends the transfer and is raised again by `run`."""

        def call_or_store_fault(*given: Any) -> Any:
            try:
                return callback(*given)
            except BaseException as fault:
                self._fault = self._fault or fault
                return END

        return call_or_store_fault

    def _open_socket(self, purpose: int, address: Any) -> socket:
        """Open a socket to a vetted address, and only once.

        libcurl would send the request again if a kept connection has closed.
        """
        if self._is_asked and not self.head.status:
            raise StaleConnection("the kept connection was closed before the answer")
        return self._gate.open(address)

    def _note_request(self, *ends: Any) -> int:
        self._is_asked = True
        report_step(FetchStep.FETCHING)
        self._watch.expect_answer()
        return int(pycurl.PREREQFUNC_OK)

    def _note_progress(self, *counts: int) -> int:
        """Called by libcurl after each of its steps, and about once a second. At the first call
        after `_note_request`, the request is being sent. Deferred work that is not ready then is
        done at a later call, since this answer may take long.
        """
        if self._is_asked and (not self._is_awaited or has_deferred_work()):
            self._is_awaited, began = True, time.monotonic()
            if do_ready_work():
                self._watch.excuse(time.monotonic() - began)
        return self._watch.tick()

    def _take_line(self, line: bytes) -> int | None:
        self._watch.add(line)
        return self._process_line(line)

    def _process_line(self, line: bytes) -> int | None:
        if not self._is_asked or self.head.status:  # the head of a proxy, or a trailer
            return None
        if not self.head.lines and self._gate.is_left_over():
            raise StaleConnection("what came belongs to no answer")
        if not self.head.add(line):
            return None
        self._is_enough = not self._wants(self.head.status, self.head.fields)
        report_step(FetchStep.READING)
        return END if self._is_enough else None

    def _take_piece(self, piece: bytes) -> int | None:
        self.body.write(piece)
        self._watch.add(piece)
        self._is_enough = self.body.tell() > self._watch.limits.most
        return END if self._is_enough else None


def _bytes_received(descriptor: int) -> int:
    """The bytes received over a connection; 0 without a connection, or if unknown."""
    if TCP_INFO is None or descriptor < 0:
        return 0
    try:
        # any family will do; to find the right one would take longer than the rest
        connection = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP, descriptor)
    except OSError:
        return 0
    try:
        told = connection.getsockopt(IPPROTO_TCP, TCP_INFO, RECEIVED.stop)
    except OSError:
        return 0
    finally:
        connection.detach()  # the connection belongs to libcurl
    return int.from_bytes(told[RECEIVED], sys.byteorder)
