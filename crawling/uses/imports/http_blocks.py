"""The answer of a server in the block of a record: its head, however old or odd, and its payload
without transfer codings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from requests.exceptions import ContentDecodingError

from crawling.archive.unpacker import MOST_HEAD
from crawling.orders.claims import MOST_DOCUMENT_BYTES
from crawling.web.document_stream import DocumentStream, new_spool
from crawling.web.fetch.content_codings import DecodedBody
from crawling.web.http_caching import read_head

PIECE_BYTES = 64 * 1024
#: RFC 9112, section 4, and lines that other servers sent: "ICY 200 OK", "HTTP 200 Document
#: follows", "HTTP/1.1 200OK", and "HTTP/1.1 OK", which browsers read as 200
STATUS_LINE = re.compile(
    rb"[ \t]*+(?:(?:HTTP|ICY|SHOUTCAST)(?:/[0-9.]*+)?[ \t]++([0-9]{1,3}+)"
    rb"|HTTP/[0-9.]++[^0-9\r\n]*+\r?+\n)",
    re.I,
)
#: the status of an answer with an invalid status (RFC 9110, section 15)
INVALID = 500
#: an empty line after either kind of line end; heads in the archive end in one of these two ways
HEAD_ENDS = (b"\r\n\r\n", b"\n\n")
CHUNK_SIZE = re.compile(rb"[ \t]*+([0-9A-Fa-f]{1,15})[ \t]*+(?:;[^\r\n]*+)?\r?+\n")
LONGEST_CHUNK_LINE = 4096
#: the most interim answers before the final one (RFC 9110, section 15.2)
MOST_INTERIM = 10
SWITCHING = 101


class LongHead(ValueError):
    """The head of an answer does not end."""


@dataclass
class HttpBlock:
    """An answer by HTTP. Its receiver closes the payload."""

    #: empty if the block is only a document, as in HTTP/0.9
    head: bytes
    #: None if the block does not begin with a status line
    status: int | None
    payload: IO[bytes]
    size: int
    #: whether a transfer coding was removed
    is_unwrapped: bool = False

    @property
    def fields(self) -> dict[str, str]:
        return read_head(self.head.decode("latin-1"))


def read_block(
    block: IO[bytes],
    size: int,
    note: Callable[[bytes], None],
    *,
    is_document: bool = False,
    is_cut_off: bool = False,
) -> HttpBlock:
    """Read the answer in a block. note: called with the pieces of its payload, transfer codings
    included.

    is_document: whether the block has no head. Raises LongHead.
    """
    if is_document:
        return HttpBlock(b"", None, *_spooled_part(block, 0, size, note))
    begin = 0
    for _ in range(MOST_INTERIM):
        head, status = _read_head_at(block, begin)
        follows = begin + len(head)
        is_interim = status is not None and 100 <= status < 200 and status != SWITCHING
        if not is_interim or not STATUS_LINE.match(_bytes_at(block, follows)):
            break
        begin = follows
    if status is None:
        return HttpBlock(b"", None, *_spooled_part(block, 0, size, note))
    answer = HttpBlock(_archived_head(head), status, *_spooled_part(block, follows, size, note))
    codings = answer.fields.get("transfer-encoding", "").lower()
    names = [name.partition(";")[0].strip() for name in codings.split(",")]
    if "chunked" in names:
        _replace_payload(
            answer, _chunk_contents(answer.payload, answer.size, is_cut_off), answer.size
        )
    others = [name for name in names if name not in ("chunked", "identity", "")]
    if others:
        _replace_payload(answer, _decode_content(answer, ", ".join(others)), MOST_DOCUMENT_BYTES)
    return answer


def _bytes_at(block: IO[bytes], offset: int) -> bytes:
    block.seek(offset)
    return block.read(64)


def _read_head_at(block: IO[bytes], begin: int) -> tuple[bytes, int | None]:
    found = STATUS_LINE.match(_bytes_at(block, begin))
    if not found:
        return b"", None
    block.seek(begin)
    head = b""
    while line := block.readline(MOST_HEAD):
        head += line
        if len(head) > MOST_HEAD:
            raise LongHead
        if not line.strip(b"\r\n"):
            break
    return head, _status_of_digits(found[1])


def _status_of_digits(digits: bytes | None) -> int:
    if digits is None:
        return 200
    return int(digits) if len(digits) == 3 and digits[:1] != b"0" else INVALID


def _archived_head(head: bytes) -> bytes:
    if not head.strip(b"\r\n") or head.endswith(HEAD_ENDS):
        return head
    return head.rstrip(b"\r\n") + HEAD_ENDS[0]


def _spooled_part(
    block: IO[bytes], begin: int, end: int, note: Callable[[bytes], None]
) -> tuple[IO[bytes], int]:
    spool, size = new_spool(), 0
    block.seek(begin)
    while piece := block.read(min(PIECE_BYTES, end - begin - size)):
        size += spool.write(piece)
        note(piece)
    return spool, size


def _replace_payload(answer: HttpBlock, pieces: Iterator[bytes] | None, most: int) -> None:
    """Replace the payload by the decoded one, unless that has more than `most` bytes."""
    if pieces is None:
        return
    spool, size = new_spool(), 0
    try:
        for piece in pieces:
            size += spool.write(piece)
            if size > most:
                raise ContentDecodingError
    except ContentDecodingError:  # the coding was removed before the answer was stored
        spool.close()
        return
    answer.payload.close()
    answer.payload, answer.size, answer.is_unwrapped = spool, size, True


def _decode_content(answer: HttpBlock, codings: str) -> Iterator[bytes]:
    return iter(DecodedBody(DocumentStream(answer.payload, answer.size).pieces(), codings))


def _chunk_contents(body: IO[bytes], size: int, is_cut_off: bool) -> Iterator[bytes] | None:
    """The chunks of a body (RFC 9112, section 7.1). None if it has no chunks, since the coding was
    removed before the answer was stored. After a first chunk the rest is read as chunks even if it
    is damaged.
    """
    first = _read_chunk_size(body, 0)
    if first is None:
        return None
    begin, length = first
    if begin + length > size:
        return _chunk_pieces(body, size) if is_cut_off else None
    body.seek(begin + length)
    if length and begin + length < size and not body.read(2).startswith((b"\r\n", b"\n")):
        return None
    return _chunk_pieces(body, size)


def _read_chunk_size(body: IO[bytes], offset: int) -> tuple[int, int] | None:
    """The place and the length of the content of the next chunk."""
    body.seek(offset)
    line = body.readline(LONGEST_CHUNK_LINE)
    found = CHUNK_SIZE.match(line)
    return (offset + len(line), int(found[1], 16)) if found else None


def _chunk_pieces(body: IO[bytes], size: int) -> Iterator[bytes]:
    offset = 0
    while offset < size:
        chunk = _read_chunk_size(body, offset)
        if chunk is None:
            yield from _pieces_between(body, offset, size)
            return
        begin, length = chunk
        if not length:
            return
        yield from _pieces_between(body, begin, min(begin + length, size))
        body.seek(begin + length)
        end = body.read(2)
        offset = begin + length + (2 if end == b"\r\n" else end.startswith(b"\n"))


def _pieces_between(body: IO[bytes], begin: int, end: int) -> Iterator[bytes]:
    while begin < end:
        body.seek(begin)
        piece = body.read(min(PIECE_BYTES, end - begin))
        if not piece:
            return
        begin += len(piece)
        yield piece
