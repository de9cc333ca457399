"""The memory of a document that is compressed without a content coding, like a sitemap."""

from __future__ import annotations

GZIP_MAGIC = b"\x1f\x8b\x08"
#: the most unpacked bytes in memory at a time
MOST_UNPACKED = 2 * 1024 * 1024
