"""Removes content codings piece by piece, so that no large piece is decompressed at once (RFC 9110,
section 8.4.1).
"""

from __future__ import annotations

import re
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

import brotlicffi
from requests.exceptions import ContentDecodingError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 64 * 1024
#: no server has a reason for more codings over one another; if there are more, none is removed
MOST_CODINGS = 3
#: the most bytes that all codings of one document may produce together, in total and as a multiple
#: of the received bytes. Otherwise a coding that produces nothing, around others, could be
#: decompressed for hours.
MOST_BYTES, MOST_RATIO = 64 * 1024 * 1024, 100
#: the processor time for one document
MOST_SECONDS = 5.0
#: the largest window that RFC 9659 allows, as a power of two
ZSTD_WINDOW_LOG = 23
GZIP_MAGIC = b"\x1f\x8b"
#: the beginning of a frame, and of a frame to be skipped (RFC 8878, sections 3.1.1 and 3.1.2)
ZSTD_MAGIC = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
#: the number of bytes that show whether a coding fits
HEAD_BYTES = 64
#: bytes that are in no text (MIME Sniffing Standard, section 3), but in every 64 compressed bytes
NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
#: the most bytes given to a decoder that are remembered until it produces something
MOST_REMEMBERED = 1024 * 1024
#: the size of the steps in which damaged bytes are decompressed, since a failing decoder loses the
#: output of its step
MOST_STEPS = 64 * 1024

#: codings without a signature at the beginning
MARKLESS = ("br", "deflate")

UNKNOWN = "The server says that it is packed as {}, which is no coding that is known here."
TOO_MANY = "The server names {} codings over one another; none was taken off."
UNFIT = "The server says that it is packed as {}, and it is not; it was read as it came."
DAMAGED = "The packed document is damaged; what could be unpacked was read."
CUT_SHORT = "The packed document breaks off; what had come of it was read."


class _Decoder(Protocol):
    """A decoder like those of the standard library. It returns at most `most` bytes at a time;
    feeding b"" returns the rest.
    """

    eof: bool
    rest: bytes

    def feed(self, data: bytes, most: int) -> bytes: ...


class _Zlib:
    def __init__(self, window_bits: int) -> None:
        self._inflater, self.eof, self.rest = zlib.decompressobj(window_bits), False, b""

    def feed(self, data: bytes, most: int) -> bytes:
        piece = self._inflater.decompress(data, most)
        self.eof = self._inflater.eof
        self.rest = self._inflater.unused_data if self.eof else self._inflater.unconsumed_tail
        return piece


class _Deflate:
    """A decoder of data in zlib's format, as the RFC says, or of raw data, which some servers
    send.
    """

    eof, rest = False, b""

    def __init__(self) -> None:
        self._inflater: _Zlib | None = None

    def feed(self, data: bytes, most: int) -> bytes:
        if self._inflater is None:
            try:
                self._inflater = _Zlib(zlib.MAX_WBITS)
                piece = self._inflater.feed(data, most)
            except zlib.error:
                self._inflater = _Zlib(-zlib.MAX_WBITS)
                piece = self._inflater.feed(data, most)
        else:
            piece = self._inflater.feed(data, most)
        self.eof, self.rest = self._inflater.eof, self._inflater.rest
        return piece


class _Brotli:
    rest = b""

    def __init__(self) -> None:
        self._decoder, self.eof = brotlicffi.Decompressor(), False

    def feed(self, data: bytes, most: int) -> bytes:
        piece: bytes = self._decoder.process(data, output_buffer_limit=most)
        self.eof = self._decoder.is_finished()
        return piece


class _Zstd:
    rest = b""

    def __init__(self) -> None:
        options = {int(zstd.DecompressionParameter.window_log_max): ZSTD_WINDOW_LOG}
        self._decoder, self.eof = zstd.ZstdDecompressor(options=options), False

    def feed(self, data: bytes, most: int) -> bytes:
        piece = self._decoder.decompress(data, most)
        self.eof, self.rest = self._decoder.eof, self._decoder.unused_data
        return piece


def _gzip_decoder() -> _Zlib:
    return _Zlib(16 + zlib.MAX_WBITS)


DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": _gzip_decoder,
    "x-gzip": _gzip_decoder,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
#: the decoders' errors for bytes that are not compressed as declared
ERRORS = (zlib.error, brotlicffi.error, zstd.ZstdError)


class DecodedBody:
    """A body without its codings, in pieces of at most 64 KiB.

    Like browsers, it ignores unknown codings, and leaves data unchanged to which a coding does not
    apply. Once all pieces were taken, `note` says what differs from the server's statement, and
    `is_cut_short` whether data are missing.

    If decompression exceeds a limit, it returns the pieces before that, then raises requests'
    ContentDecodingError.
    """

    def __init__(self, pieces: Iterable[bytes], content_encoding: str) -> None:
        self.is_cut_short = False
        self.note = ""
        self._came = self._given = 0
        self._until = time.thread_time() + MOST_SECONDS
        self._pieces = self._count_received(pieces)
        for name in reversed(self._known_codings(content_encoding)):
            self._pieces = self._remove_coding(self._pieces, name)

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def _known_codings(self, content_encoding: str) -> list[str]:
        names = [name.strip().lower() for name in content_encoding.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        if unknown := [name for name in names if name not in DECODERS]:
            self._note_first(UNKNOWN.format(", ".join(unknown)[:100]))
        names = [name for name in names if name in DECODERS]
        if len(names) > MOST_CODINGS:
            self._note_first(TOO_MANY.format(len(names)))
            return []
        return names

    def _note_first(self, note: str) -> None:
        """Keep the first note, since further faults follow from the first."""
        self.note = self.note or note

    def _count_received(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._came += len(piece)
            yield piece

    def _decode_within_limits(self, decoder: _Decoder, data: bytes) -> bytes:
        """The output of a decoder for some bytes, within the limits of the document."""
        unpacked = decoder.feed(data, PIECE_BYTES)
        self._given += len(unpacked)
        if self._given > MOST_BYTES + MOST_RATIO * self._came:
            raise ContentDecodingError("it unpacks to much more than what came")
        if time.thread_time() > self._until:
            raise ContentDecodingError(f"unpacking it takes more than {MOST_SECONDS:g} s")
        return unpacked

    def _remove_coding(self, pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
        head = _first_bytes(pieces)
        if not head:
            return
        if not _may_be_in_coding(name, head):
            self._note_first(UNFIT.format(name))
            yield from _small_pieces(chain([head], pieces))
            return
        layer = _OpenContent(name, _decoder_for(name, head))
        for piece in chain([head], pieces):
            try:
                yield from self._decode_piece(layer, piece)
            except ERRORS:
                yield from self._decode_readable_part(layer, pieces)
                return
            if layer.is_over:
                return
        if layer.decoder.eof:
            return
        if layer.remembered and name in MARKLESS:
            yield from self._decode_readable_part(layer, pieces)
        else:
            self.is_cut_short = True
            self._note_first(CUT_SHORT)

    def _decode_piece(self, layer: _OpenContent, piece: bytes) -> Iterator[bytes]:
        layer.remember(piece)
        data = piece
        while True:
            if layer.decoder.eof:
                if not _may_continue(layer.name, data):
                    layer.is_over = True
                    return
                layer.decoder = _decoder_for(layer.name, data)
            unpacked = self._decode_within_limits(layer.decoder, data)
            if unpacked:
                layer.remembered = None
                yield unpacked
            data = layer.decoder.rest
            if not data and (layer.decoder.eof or len(unpacked) < PIECE_BYTES):
                return

    def _decode_readable_part(self, layer: _OpenContent, rest: Iterator[bytes]) -> Iterator[bytes]:
        """The readable bytes of a layer with a fault: its beginning, or the whole layer
        unchanged.
        """
        is_begun = layer.remembered is None
        came = bytes(layer.remembered or b"")
        if came and layer.name != "br":
            for piece in self._salvage_content(layer.name, came):
                is_begun = True
                yield piece
        if is_begun:
            self.is_cut_short = True
            self._note_first(DAMAGED)
        else:
            self._note_first(UNFIT.format(layer.name))
            yield from _small_pieces(chain([came], rest))

    def _salvage_content(self, name: str, packed: bytes) -> Iterator[bytes]:
        """Decompress data that failed as a whole in small steps, up to the fault."""
        decoder = _decoder_for(name, packed)
        step = -(-len(packed) // MOST_STEPS)
        for at in range(0, len(packed), step):
            data = packed[at : at + step]
            while data and not decoder.eof:
                try:
                    unpacked = self._decode_within_limits(decoder, data)
                except ERRORS:
                    return
                data = decoder.rest
                if unpacked:
                    yield unpacked


@dataclass(slots=True)
class _OpenContent:
    name: str
    decoder: _Decoder
    #: the bytes fed, as long as there is no output; None once there is some, or if they were too
    #: many
    remembered: bytearray | None = field(default_factory=bytearray)
    #: whether the end of the coding was read, so that further bytes do not belong to it
    is_over: bool = False

    def remember(self, piece: bytes) -> None:
        if self.remembered is not None:
            self.remembered += piece
            if len(self.remembered) > MOST_REMEMBERED:
                self.remembered = None


def _first_bytes(pieces: Iterator[bytes]) -> bytes:
    """The first bytes of the pieces: at least HEAD_BYTES, if there are so many."""
    head = b""
    for piece in pieces:
        head = head + piece if head else piece
        if len(head) >= HEAD_BYTES:
            break
    return head


def _small_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for at in range(0, len(piece), PIECE_BYTES):
            yield piece[at : at + PIECE_BYTES]


def _may_be_in_coding(name: str, head: bytes) -> bool:
    """Whether bytes may be in a coding; for codings without a signature, whether they are no
    text.
    """
    if name in ("gzip", "x-gzip"):
        return head.startswith(GZIP_MAGIC)
    if name == "zstd":
        return ZSTD_MAGIC.match(head) is not None
    return len(head) < HEAD_BYTES or NO_TEXT.search(head, 0, HEAD_BYTES) is not None


def _decoder_for(name: str, head: bytes) -> _Decoder:
    is_gzip = name == "deflate" and head.startswith(GZIP_MAGIC)  # some servers confuse the two
    return DECODERS["gzip" if is_gzip else name]()


def _may_continue(name: str, rest: bytes) -> bool:
    """Whether another member follows the end. Bytes other than a member do not belong to the
    document.
    """
    if name == "zstd":
        return ZSTD_MAGIC.match(rest) is not None
    return name in ("gzip", "x-gzip") and GZIP_MAGIC.startswith(rest[:2])
