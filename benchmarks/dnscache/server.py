"""A name server fast enough that no benchmark waits for it: one thread, packets assembled by hand,
and delays in a heap.

The first label of a name decides the answer: `slow-N` and `web-N` are answered after N
milliseconds, `nx` does not exist, `to` is not answered, and any other name is answered at once.
Names of `web-N` are on loopback. No name has an IPv6 address.
"""

from __future__ import annotations

import heapq
import multiprocessing
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from select import select

from dnscache.lookup import Server

TTL = 300
_RECORD = struct.Struct("!HHHLH")
_OWNER = 0xC00C  # points to the name in the question
_SOA = (
    b"\xc0\x0c"
    + struct.pack("!HHLH", 6, 1, TTL, 22)
    + b"\0\0"
    + struct.pack("!5L", 1, 3600, 600, 86400, TTL)
)


@contextmanager
def name_server() -> Iterator[Server]:
    """Run a name server in a separate process until the block ends. Yields its address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join()


def _serve(pipe: Connection) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        sock.setblocking(False)
        pipe.send(sock.getsockname())
        later: list[tuple[float, int, bytes, Server]] = []
        count = 0
        heard_from: list[Connection | socket.socket] = [pipe, sock]
        # select() waits to the microsecond, while poll() would round every delay up to the next
        # millisecond
        while pipe not in (
            ready := select(
                heard_from, [], [], max(0.0, later[0][0] - time.monotonic()) if later else None
            )[0]
        ):
            now = time.monotonic()
            while ready:
                try:
                    query, client = sock.recvfrom(1500)
                except BlockingIOError:
                    break
                kind, _, delay = query[13 : 13 + query[12]].decode().lower().partition("-")
                count += 1
                if kind != "to":
                    heapq.heappush(
                        later, (now + int(delay or 0) / 1000, count, _answer(query, kind), client)
                    )
            while later and later[0][0] <= time.monotonic():
                sock.sendto(*heapq.heappop(later)[2:])


def _answer(query: bytes, kind: str) -> bytes:
    end = query.index(0, 12) + 5
    address = b"\x7f\0\0\x01" if kind == "web" else b"\xc0\0\x02\x01"
    has_address = kind != "nx" and query[end - 4 : end - 2] == b"\0\x01"
    flags = 0x8183 if kind == "nx" else 0x8180
    head = query[:2] + struct.pack("!5H", flags, 1, int(has_address), int(not has_address), 0)
    return (
        head
        + query[12:end]
        + (_RECORD.pack(_OWNER, 1, 1, TTL, 4) + address if has_address else _SOA)
    )
