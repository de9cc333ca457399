"""What a document takes in memory that is packed without a content coding, as sitemaps are."""

from __future__ import annotations

GZIP_MAGIC = b"\x1f\x8b\x08"
#: of what is packed, so many unpacked bytes are in memory at a time
MOST_UNPACKED = 2 * 1024 * 1024
