"""One transfer by libcurl: its callbacks keep what comes, and end what goes on for too long or becomes too much."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from socket import IPPROTO_TCP, TCP_INFO, socket
from sys import byteorder
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import pycurl
from requests.exceptions import ChunkedEncodingError, ReadTimeout
from urllib3 import HTTPHeaderDict

from crawling.fetchers.faults import Forbidden, Stale, fault_of
from crawling.fetchers.progress import say
from crawling.rules.steps import Step

#: a body is in memory up to this size, and in a file beyond it (SEEDS W7)
SPOOL_BYTES = 64 * 1024
#: all heads of one answer, and what follows its last chunk
MOST_HEAD_BYTES = 256 * 1024


REFUSED: int = pycurl.SOCKET_BAD
ABORT: int = pycurl.PREREQFUNC_ABORT
GO_ON: int = pycurl.PREREQFUNC_OK
#: where the kernel's struct tcp_info has tcpi_bytes_received
RECEIVED_AT, TCP_INFO_BYTES = 128, 136


def _bytes_received(descriptor: int) -> int | None:
    """What has come over a connection; None: there is none, or the kernel does not say."""
    if descriptor < 0:
        return None
    try:
        with_descriptor = socket(fileno=descriptor)
    except OSError:
        return None
    try:
        info = with_descriptor.getsockopt(IPPROTO_TCP, TCP_INFO, TCP_INFO_BYTES)
    except OSError:
        return None
    finally:
        with_descriptor.detach()
    return int.from_bytes(info[RECEIVED_AT:], byteorder) if len(info) == TCP_INFO_BYTES else None


@dataclass(frozen=True, slots=True)
class Limits:
    """answer_seconds: the longest to wait for one whole answer; answer_bytes: the most to take of it, heads included;
    read_seconds: the longest between two pieces; first_byte_seconds: until it begins; most: bytes of the body that are wanted."""

    answer_seconds: float
    answer_bytes: int
    read_seconds: float
    first_byte_seconds: float
    most: int


class Transfer:
    """What comes in answer to one request. What we do between two pieces, `received` waiting, is not the server's fault.

    may_dial(address, port): whether a socket may go there. received: is told how many bytes came.
    is_cut: whether everything is to end. wants: whether the body is to be read, asked with the head.
    is_read_ahead: what came over the connection may be in TLS, where nobody sees it.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        may_dial: Callable[[str, int], bool],
        received: Callable[[int], None],
        is_cut: Callable[[], bool],
        wants: Callable[[int, HTTPHeaderDict], bool] = lambda status, fields: True,
        is_read_ahead: bool = False,
    ) -> None:
        self._limits, self._may_dial, self._received, self._is_cut, self._wants = limits, may_dial, received, is_cut, wants
        self._is_read_ahead = is_read_ahead
        self.body: IO[bytes] = SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115  # whoever has the answer closes it
        self.lines: list[bytes] = []
        self.fields = HTTPHeaderDict()
        self.status = self.size = self.count = 0
        self._head_bytes = self._told = 0
        self._is_asked = self._is_answered = self._is_enough = self._is_fresh = False
        self._fault: BaseException | None = None
        self._opened: list[socket] = []

    def run(self, curl: pycurl.Curl) -> None:
        """Raises requests' exceptions; an answer that was read as far as it was wanted raises nothing."""
        self._kept = curl.getinfo(pycurl.ACTIVESOCKET) if self._is_read_ahead else -1
        self._before = _bytes_received(self._kept)
        for option, callback in (
            (pycurl.OPENSOCKETFUNCTION, self._open),
            (pycurl.PREREQFUNCTION, self._ask),
            (pycurl.HEADERFUNCTION, self._guarded_line),
            (pycurl.WRITEFUNCTION, self._take),
            (pycurl.XFERINFOFUNCTION, self._tick),
        ):
            curl.setopt(option, callback)
        self._until = time.monotonic() + self._limits.answer_seconds
        self._quiet_until = self._until
        try:
            curl.perform()
            if not self.status:
                raise ChunkedEncodingError("the answer breaks off in its head")
        except pycurl.error as error:
            code, said = error.args
            if self._fault:
                raise self._fault from None
            if not self._is_enough:
                raise fault_of(curl, code, said) from None
        finally:
            for each in self._opened:
                each.close()  # libcurl has duplicated it
            self._tell()

    def _open(self, purpose: int, address: Any) -> socket | int:
        """Only to where it may go; and nobody is asked twice: libcurl would send the request again where a kept connection has closed."""
        host, port = address.addr[:2]
        if self._is_asked and not self.status:
            self._fault = Stale("the kept connection was closed before the answer")
            return REFUSED
        if not self._may_dial(str(ip_address(host)), port):
            self._fault = self._fault or Forbidden(f"{host} port {port} may not be connected to")
            return REFUSED
        say(Step.CONNECTING)
        self._opened.append(socket(address.family, address.socktype, address.protocol))
        return self._opened[-1]

    def _ask(self, *ends: Any) -> int:
        if self._is_asked:
            self._fault = Stale("the kept connection was closed before the answer")
            return ABORT
        self._is_asked = True
        say(Step.FETCHING)
        self._quiet_until = time.monotonic() + self._limits.first_byte_seconds
        return GO_ON

    def _guarded_line(self, line: bytes) -> int | None:
        if not self._is_in_time(line):
            return -1
        self._head_bytes += len(line)
        if self._head_bytes > MOST_HEAD_BYTES:
            return self._end(ChunkedEncodingError("the head of the answer goes on without end"))
        if not self._is_asked or self.status:  # a proxy's, or behind the last chunk
            return None
        return self._line(line)

    def _line(self, line: bytes) -> int | None:
        """Of the head; interim answers are looked past (RFC 9110, section 15.2)."""
        if not self.lines and self._is_left_over():
            return self._end(Stale("what came belongs to no answer"))
        self.lines.append(line)
        if line not in (b"\r\n", b"\n"):
            return None
        status = int(self.lines[0].split(None, 2)[1][:3])
        if 100 <= status < 200 and status != 101:
            self.lines.clear()
            return None
        if status == 101:
            return self._end(ChunkedEncodingError("the server changes to a protocol that nobody asked for"))
        for each in self.lines[1:-1]:
            name, _, value = each.decode("latin-1").partition(":")
            self.fields.add(name.strip(), value.strip())
        self.status = status
        try:
            self._is_enough = not self._wants(status, self.fields)
        except BaseException as error:
            return self._end(error)
        say(Step.READING)
        return -1 if self._is_enough else None

    def _is_left_over(self) -> bool:
        """Whether this came before the request: TLS had read it with the end of the answer before, and nothing has come since."""
        return not self._opened and self._before is not None and _bytes_received(self._kept) == self._before

    def _take(self, piece: bytes) -> int | None:
        if not self._is_in_time(piece):
            return -1
        self.size += len(piece)
        self.body.write(piece)
        if self.size > self._limits.most:
            self._is_enough = True
            return -1
        try:
            self._tell()
        except BaseException as error:
            return self._end(error)
        return None

    def _tell(self) -> None:
        """Tell what has come since the last time; whoever hears it may wait."""
        if self.count > self._told:
            asked_at = time.monotonic()
            self._received(self.count - self._told)
            self._until += time.monotonic() - asked_at
            self._told = self.count

    def _tick(self, *counts: int) -> int:
        """libcurl asks after every event, and at least once a second, in each phase of a transfer."""
        now, limits = time.monotonic(), self._limits
        if self._is_cut():
            return self._end(ChunkedEncodingError("cut off"))
        if self._is_fresh:
            self._is_fresh, self._quiet_until = False, now + limits.read_seconds
        if now > self._until:
            return self._end(ReadTimeout(f"the whole answer took longer than {limits.answer_seconds:g} s"))
        if now > self._quiet_until:
            return self._end(self._silence())
        if self.count > limits.answer_bytes:
            return self._end(ChunkedEncodingError("the answer goes on without end"))
        return 0

    def _is_in_time(self, data: bytes) -> bool:
        """Whether it came before the silence was too long; the first after each look at the clock tells."""
        if not self._is_fresh:
            self._is_fresh = True
            if time.monotonic() > self._quiet_until:
                self._end(self._silence())
                return False
        self.count += len(data)
        return True

    def _silence(self) -> ReadTimeout:
        seconds = self._limits.read_seconds if self.count else self._limits.first_byte_seconds
        return ReadTimeout(f"the server sent nothing for {seconds:g} s")

    def _end(self, fault: BaseException) -> int:
        self._fault = self._fault or fault
        return -1
