"""A connection to a vetted address for the protocol of a package, within the crawl's limits:
deadlines, bandwidth and size.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import ip_address

from requests.exceptions import (
    ChunkedEncodingError,
    ConnectionError,
    ConnectTimeout,
    ReadTimeout,
    RequestException,
)

from crawling.web.document_stream import DocumentStream, new_spool
from crawling.web.fetch.http import Fetched, failed_fetch
from crawling.web.fetch.progress import FetchStep, report_step
from crawling.web.fetch.scheme_task import FetchTask
from crawling.web.statuses import FetchStatus

#: the bytes that are read between two waits for bandwidth
PIECE_BYTES = 16 * 1024
#: the time between two checks whether everything must end
LOOK_SECONDS = 1.0
#: the most bytes of a requested line
LONGEST_LINE = 16 * 1024


class _SizeLimit(Exception):
    """The server sends more than the crawl accepts."""


class TcpConnection:
    """The connection over which a package's protocol sends and receives. Its methods raise
    exceptions of requests, which `fetch_by_dialogue` turns into statuses.
    """

    def __init__(self, task: FetchTask, line: socket.socket, until: float) -> None:
        self._task, self._line, self._until = task, line, until
        self._pending = b""
        self._count = 0

    def send(self, request: bytes) -> None:
        view = memoryview(request)
        while view:
            self._wait(for_writing=True)
            view = view[self._line.send(view) :]

    def receive_line(self) -> bytes:
        """The next line without its end; also empty at the end of the answer."""
        while b"\n" not in self._pending:
            piece = self._receive_piece()
            if not piece:
                break
            self._pending += piece
            if len(self._pending) > LONGEST_LINE:
                raise ChunkedEncodingError(f"a line is longer than {LONGEST_LINE} bytes")
        line, _, self._pending = self._pending.partition(b"\n")
        return line.removesuffix(b"\r")

    def receive_rest(self) -> DocumentStream:
        """All bytes until the server closes the connection."""
        spool = new_spool()
        with ExitStack() as faulty:
            faulty.callback(spool.close)
            size = spool.write(self._pending)
            self._pending = b""
            while piece := self._receive_piece():
                size += spool.write(piece)
            faulty.pop_all()
        return DocumentStream(spool, size)

    def _receive_piece(self) -> bytes:
        """The received bytes, at least one; empty if the server has closed the connection."""
        self._wait(for_writing=False)
        piece = self._line.recv(PIECE_BYTES)
        self._count += len(piece)
        if self._count > self._task.max_bytes:
            raise _SizeLimit
        if piece:
            asked_at = time.monotonic()
            self._task.received(len(piece))
            # a wait for bandwidth is not counted against the server
            self._until += time.monotonic() - asked_at
        return piece

    def _wait(self, *, for_writing: bool) -> None:
        """Wait until the connection can be used. Raises ReadTimeout."""
        began = time.monotonic()
        end = min(self._until, began + self._task.read_seconds)
        poll = select.poll()
        poll.register(self._line, select.POLLOUT if for_writing else select.POLLIN)
        while True:
            if self._task.is_cut():
                raise ChunkedEncodingError("cut off")
            left = end - time.monotonic()
            if left <= 0:
                raise ReadTimeout(f"the server was silent, or took too long ({end - began:.0f} s)")
            if poll.poll(1000 * min(left, LOOK_SECONDS)):
                return


def fetch_by_dialogue(task: FetchTask, dialogue: Callable[[TcpConnection], Fetched]) -> Fetched:
    """Connect to the task's vetted address and port, and return the result of the dialogue.

    Never raises because of a server.
    """
    began = time.monotonic()
    try:
        with _connect(task) as line:
            report_step(FetchStep.READING)
            found = dialogue(TcpConnection(task, line, began + task.document_seconds))
    except _SizeLimit:
        found = Fetched(FetchStatus.TOO_BIG, error=FetchStatus.TOO_BIG.sentence)
    except RequestException as fault:
        found = failed_fetch(fault, 0.0)
    except OSError as fault:
        found = failed_fetch(ChunkedEncodingError(fault.strerror or str(fault)), 0.0)
    seconds = time.monotonic() - began
    return replace(found, seconds=seconds, http_status=max(0, found.status))


def _connect(task: FetchTask) -> socket.socket:
    report_step(FetchStep.CONNECTING)
    # an IP address and not a name, so nothing is looked up
    place = str(ip_address(task.dial)), task.address.port
    try:
        line = socket.create_connection(place, timeout=task.connect_seconds)
    except TimeoutError as fault:
        raise ConnectTimeout(f"no connection within {task.connect_seconds:g} s") from fault
    except OSError as fault:
        raise ConnectionError(fault.strerror or str(fault)) from fault
    line.setblocking(False)
    return line
