"""Fields of heads: which may come on several lines (RFC 9110, section 5.3)."""

from __future__ import annotations

#: Each has one value. Of several lines the first that says something counts, as in browsers and
#: curl, which take the first Location that is not empty; all others are lists. Content-Type has a
#: rule of its own (`crawling.web.content.media_types`).
SINGLE = frozenset(
    {
        *("age", "content-disposition", "content-length", "content-location", "content-range"),
        *("date", "etag", "expires", "last-modified", "location", "refresh", "retry-after"),
        "server",
    }
)
