"""Content codings taken off piece by piece, so that no piece of what is packed unfolds at once (RFC
9110, section 8.4.1).
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import brotlicffi
from requests.exceptions import ContentDecodingError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 64 * 1024
#: more codings over one another than any server has a reason for
MOST_CODINGS = 5
#: the largest window that RFC 9659 allows, as a power of two
ZSTD_WINDOW_LOG = 23
GZIP_MAGIC = b"\x1f\x8b"


class _Decoder(Protocol):
    """As those of the standard library: at most `most` bytes at a time, and b"" is given for what
    is still inside.
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
    """In zlib's wrapping as the RFC has it, or bare as some servers do."""

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


def _gzip() -> _Zlib:
    return _Zlib(16 + zlib.MAX_WBITS)


DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": _gzip, "x-gzip": _gzip, "deflate": _Deflate, "br": _Brotli, "zstd": _Zstd
}  # fmt: skip
#: what the decoders raise for what is not packed as it says
ERRORS = (zlib.error, brotlicffi.error, zstd.ZstdError)


class DecodedBody:
    """What is left of the pieces of a body when its codings are taken off, as pieces of at most 64
    KiB.

    `is_cut_short` once all pieces were taken: the packed form broke off before its own end.
    Raises requests' ContentDecodingError for a coding that is not known here, and for what is not
    packed as it says.
    """

    def __init__(self, pieces: Iterable[bytes], content_encoding: str) -> None:
        self.is_cut_short = False
        names = [name.strip().lower() for name in content_encoding.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        unknown = [name for name in names if name not in DECODERS]
        if unknown or len(names) > MOST_CODINGS:
            what = ", ".join(unknown) or f"{len(names)} codings over one another"
            raise ContentDecodingError(f"it is packed in a way that is not read here: {what}")
        self._pieces = iter(pieces)
        for name in reversed(names):
            self._pieces = self._taken_off(self._pieces, name)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._pieces
        except ERRORS as error:
            raise ContentDecodingError(f"what came cannot be unpacked: {error}") from error

    def _taken_off(self, pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
        decoder, has_begun = DECODERS[name](), False
        for piece in pieces:
            has_begun, data = True, piece
            while True:
                if decoder.eof:
                    if not _goes_on(name, data):
                        return
                    decoder = DECODERS[name]()
                unpacked = decoder.feed(data, PIECE_BYTES)
                if unpacked:
                    yield unpacked
                data = decoder.rest
                if not data and (decoder.eof or len(unpacked) < PIECE_BYTES):
                    break
        self.is_cut_short |= has_begun and not decoder.eof


def _goes_on(name: str, rest: bytes) -> bool:
    """Whether what is behind the end is one more member; anything else there is no part of the
    document.
    """
    is_gzip = name in ("gzip", "x-gzip") and GZIP_MAGIC.startswith(rest[:2])
    return is_gzip or name == "zstd"
