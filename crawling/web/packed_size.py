"""What a document takes in memory that is packed without a content coding, as sitemaps are."""

from __future__ import annotations

GZIP_MAGIC = b"\x1f\x8b\x08"
#: of what is packed, so many unpacked bytes are in memory at a time
MOST_UNPACKED = 2 * 1024 * 1024


def bytes_in_hand(size: int, beginning: bytes, most: int) -> int:
    """Bytes that the body of a document takes while it is read.

    beginning: of the body. most: the largest document of the crawl, for which there is always room.
    """
    is_packed = beginning.startswith(GZIP_MAGIC)
    return min(size + MOST_UNPACKED, max(size, most)) if is_packed else size
