"""Limits the number of programs' requests that a web process serves at a time, and answers those
beyond the limit.

If a request is short, the web server's main loop sends this answer itself: passing the request to a
thread and through Django takes six times as long, and a hundred requests of a busy program may be
refused each second.
"""

from __future__ import annotations

import json
import math
import socket
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from secrets import token_hex
from threading import Lock
from time import monotonic

from crawlsite.middleware.request_ids import HEADER

#: the addresses of programs
PROGRAM_PATHS = ("/api/", "/metrics")
#: the seconds after which a program whose request found no place may try again
AGAIN_SECONDS = 1
NO_PLACE = "The server is answering as many programs as it can; ask again in a moment."
#: the longest head of a request that the main loop refuses
HEAD_BYTES = 4096
#: a request with one of these in its head may have a body, or needs more than a short answer
NOT_SHORT = (b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"close")


def program_places(threads: int) -> int:
    """The number of programs' requests that a process with `threads` threads for pages serves at a
    time.
    """
    return max(1, threads // 2)


class ProgramAdmission:
    """Counts the programs' requests that one process is serving, in all of its threads."""

    def __init__(self, count: int) -> None:
        self._count, self._taken = count, 0
        self._lock = Lock()
        #: the time when a program last had to wait or was refused, by the monotonic clock
        self.crowded_at = -math.inf

    def admit(self) -> bool:
        """Take a place. Return whether one was free. The caller gives it back by `leave`."""
        with self._lock:
            if self._taken == self._count:
                return False
            self._taken += 1
            return True

    def leave(self) -> None:
        with self._lock:
            self._taken -= 1

    def is_full(self) -> bool:
        return self._taken == self._count

    def refuse(self, connection: socket.socket) -> bool:
        """Refuse a short request for which no place is free. Return whether the refusal was sent.

        connection: must not block. While all places are taken, a caller beyond its limit of a
        minute gets 503 here, too, since distinguishing such callers would take the time that the
        main loop saves.
        """
        if not self.is_full():
            return False
        head = received_bytes(connection, HEAD_BYTES)
        if not is_short_request(head):
            return False
        self.crowded_at = monotonic()
        answer, sent = busy_answer(), 0
        with suppress(OSError):  # the client has closed the connection, or reads no answer
            connection.recv(len(head))
            sent = connection.send(answer)
        if sent < len(answer):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        return True


@cache
def admission_of(threads: int) -> ProgramAdmission:
    """The admission of this process. threads: its number of threads for pages."""
    return ProgramAdmission(program_places(threads))


def received_bytes(connection: socket.socket, most_bytes: int) -> bytes:
    """The bytes that have arrived, without removing them; empty if there are none."""
    try:
        return connection.recv(most_bytes, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError:  # no bytes yet, or closed
        return b""


def is_request_of_program(head: bytes) -> bool:
    """Whether the first bytes of a request are those of a program's request."""
    _, _, target = head.partition(b" ")
    return target.decode("latin-1").startswith(PROGRAM_PATHS)


def is_short_request(head: bytes) -> bool:
    """Whether these bytes are exactly one request of a program, without a body, that leaves the
    connection open.
    """
    line = head.partition(b"\r\n")[0]
    return (
        line.startswith(b"GET ")
        and line.endswith(b" HTTP/1.1")
        and is_request_of_program(line)
        and head.find(b"\r\n\r\n") == len(head) - 4
        and head.count(b"\n") == head.count(b"\r\n")
        and b"\0" not in head
        and b"\r\nhost:" in head.lower()
        and not any(word in head.lower() for word in NOT_SHORT)
    )


def busy_answer() -> bytes:
    """The answer that `AdmissionMiddleware` gives to other requests."""
    status, body = HTTPStatus.SERVICE_UNAVAILABLE, json.dumps({"detail": NO_PLACE})
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"Retry-After: {AGAIN_SECONDS}",
        "X-Content-Type-Options: nosniff",
        f"{HEADER}: {token_hex(6)}",
        "",
        body,
    )
    return "\r\n".join(lines).encode()
