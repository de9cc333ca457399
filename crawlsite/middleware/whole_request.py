"""Finds the end of a request while its bytes arrive: by its head, its stated length or its chunks
(RFC 9112, sections 2, 6 and 7.1).

Only the end is sought, so that a thread gets a request as a whole; gunicorn's parser checks it
afterwards. Each byte is examined once, in however many pieces a request arrives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto

#: the most bytes of a body, and of a body without a log-in, since only log-in forms are sent
#: without one
MOST_BYTES, MOST_BYTES_OF_STRANGERS = 16 * 2**20, 64 * 2**10
#: the most bytes of a head, and of the line with the size of a chunk
MOST_HEAD_BYTES, MOST_SIZE_LINE_BYTES = 128 * 2**10, 256
#: the most chunks of a body
MOST_CHUNKS = 2**16
END_OF_HEAD = b"\r\n\r\n"
BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


class Arrival(Enum):
    """The part of a request that has arrived."""

    #: a part is missing
    PART = auto()
    WHOLE = auto()
    #: the end cannot be determined, so the parser will refuse the request
    ODD = auto()
    LONG_HEAD = auto()
    LONG_BODY = auto()


@dataclass
class IncomingRequest:
    """The bytes of one request that have arrived, and perhaps some of the next request."""

    #: the end of the time limit, by the monotonic clock
    until: float
    text: bytearray = field(default_factory=bytearray)
    #: whether the client waits for `100 Continue` before it sends the body (RFC 9110, 10.1.1)
    waits: bool = False
    _looked: int = 0
    _end: ChunksEnd | int | None = None
    _most: int = 0

    def arrival(self) -> Arrival:
        if self._end is None and (judged := self._read_head()):
            return judged
        if isinstance(self._end, int):
            return Arrival.WHOLE if len(self.text) >= self._end else Arrival.PART
        assert self._end
        arrived = self._end.arrival(self.text)
        if arrived is Arrival.PART and len(self.text) > self._most:
            return Arrival.LONG_BODY
        return arrived

    def _read_head(self) -> Arrival | None:
        """Read the head. None if it is complete; it then determines the end of the body."""
        # one empty line before the request is ignored
        start = 2 if self.text.startswith(b"\r\n") else 0
        end = self.text.find(END_OF_HEAD, max(start, self._looked - 3))
        if end < 0:
            if BARE_LINE_FEED.search(self.text, max(0, self._looked - 1)):
                return Arrival.ODD
            self._looked = len(self.text)
            return Arrival.LONG_HEAD if self._looked > MOST_HEAD_BYTES else Arrival.PART
        if end > MOST_HEAD_BYTES:
            return Arrival.LONG_HEAD
        heads = _head_fields(bytes(self.text[start:end]))
        self.waits = heads.get(b"expect", b"").lower() == b"100-continue"
        begin = end + len(END_OF_HEAD)
        most = body_limit(b"authorization" in heads or b"sessionid=" in heads.get(b"cookie", b""))
        self._most = begin + most
        if coding := heads.get(b"transfer-encoding"):
            if coding.lower() != b"chunked" or b"content-length" in heads:
                return Arrival.ODD
            self._end = ChunksEnd(begin)
            return None
        length = heads.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 15:
            return Arrival.ODD
        if int(length) > most:
            return Arrival.LONG_BODY
        self._end = begin + int(length)
        return None


class ChunksEnd:
    def __init__(self, begin: int) -> None:
        #: the beginning of the next line to be read
        self._at = begin
        self._is_trailer = False
        self._count = 0

    def arrival(self, text: bytearray) -> Arrival:
        while True:
            end = text.find(b"\r\n", self._at)
            if end < 0:
                return Arrival.ODD if self._is_too_long(len(text)) else Arrival.PART
            if self._is_too_long(end):
                return Arrival.ODD
            line, self._at = bytes(text[self._at : end]), end + 2
            if self._is_trailer:
                if not line:
                    return Arrival.WHOLE
                continue
            size = CHUNK_SIZE.fullmatch(line)
            if not size:
                return Arrival.ODD
            self._count += 1
            if self._count > MOST_CHUNKS:
                return Arrival.LONG_BODY
            self._is_trailer = not int(size[1], 16)
            self._at += 0 if self._is_trailer else int(size[1], 16) + 2

    def _is_too_long(self, end: int) -> bool:
        return end - self._at > MOST_SIZE_LINE_BYTES


def body_limit(is_known: bool) -> int:
    """The largest size of a body. is_known: whether the request has the cookie of a session or a
    token.
    """
    return MOST_BYTES if is_known else MOST_BYTES_OF_STRANGERS


def _head_fields(head: bytes) -> dict[bytes, bytes]:
    """The fields of the head. Fields of one name are joined, so that a repeated length is no
    number.
    """
    found: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        found.setdefault(name.lower(), []).append(value.strip(b" \t"))
    return {name: b", ".join(values) for name, values in found.items()}
