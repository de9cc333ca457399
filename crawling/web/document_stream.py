"""A document that can be read any number of times: in memory up to 256 KiB, in a file beyond that
(SEEDS W7).
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO

#: A body is in memory up to this size, and in a file beyond it. Several steps read a document in
#: turn (digests, encoding, parser, record), and each read of a file releases the interpreter. The
#: tree of a document takes ten times more memory than the document.
SPOOL_BYTES = 256 * 1024
PIECE_BYTES = 64 * 1024


def new_spool() -> IO[bytes]:
    """A store for incoming bytes: first in memory, then in a file without a name."""
    return SpooledTemporaryFile(SPOOL_BYTES)


class DocumentStream:
    """The bytes of a document, with their number as its length. Each holder closes its own share,
    any number of times. The last holder frees the bytes.
    """

    def __init__(self, content: IO[bytes], size: int, holders: list[None] | None = None) -> None:
        self.content, self._size = content, size
        #: an entry for each holder that has not closed its share. Threads may close shares at the
        #: same time, since changes at the ends of a list are atomic
        self._holders = [] if holders is None else holders
        self._holders.append(None)
        #: the share of this holder, empty once it is closed
        self._share = [None]

    @classmethod
    def of(cls, document: bytes) -> DocumentStream:
        return cls(BytesIO(document), len(document))

    def share(self) -> DocumentStream:
        """The same bytes for another holder. Two holders must not read at the same time."""
        return DocumentStream(self.content, self._size, self._holders)

    def __len__(self) -> int:
        return self._size

    def start(self, most: int) -> bytes:
        if not self._size:
            return b""
        self.content.seek(0)
        return self.content.read(min(most, self._size))

    def read(self) -> bytes:
        """The whole document, if it is known to be small."""
        return self.start(self._size)

    def pieces(self, most: int | None = None, size: int = PIECE_BYTES) -> Iterator[bytes]:
        """The document, or its first `most` bytes, in pieces of at most `size` bytes."""
        at, end = 0, self._size if most is None else min(most, self._size)
        while at < end:
            self.content.seek(at)
            piece = self.content.read(min(size, end - at))
            if not piece:
                return
            at += len(piece)
            yield piece

    def at_hand(self) -> DocumentStream:
        """A copy for several readers at once: in memory unless it is large. The original must still
        be closed.
        """
        return DocumentStream.of(self.read()) if self._size <= SPOOL_BYTES else self

    def sha256(self) -> bytes:
        found = sha256()
        for piece in self.pieces():
            found.update(piece)
        return found.digest()

    def close(self) -> None:
        try:
            self._share.pop()
        except IndexError:  # the share was closed before
            return
        self._holders.pop()
        if not self._holders:
            self.content.close()


#: the document of an answer without a body
NO_DOCUMENT = DocumentStream.of(b"")
NO_DOCUMENT.close()  # all threads share this document, and none must be the last to close it


GZIP_MAGIC = b"\x1f\x8b\x08"
#: the most unpacked bytes in memory at a time
MOST_UNPACKED = 2 * 1024 * 1024
