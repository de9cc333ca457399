"""JSON Feed 1.1 (https://www.jsonfeed.org/): entries with their pages and attachments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crawling.web.documents.base import (
    Document,
    DocumentMetadata,
    DocumentSource,
    TruncationReason,
)
from crawling.web.links import Links

TYPES = ("application/feed+json",)
#: the whole text is in memory at once
MOST_BYTES = 2 * 1024 * 1024


def read(source: DocumentSource) -> Document:
    """Read a feed; a document that is not a feed is kept without links."""
    if len(source.body) > MOST_BYTES:
        return Document(unread=TruncationReason.SIZE)
    try:
        feed = json.loads(source.body.read())
    except (ValueError, RecursionError):
        return Document(unread=TruncationReason.BROKEN)
    if not isinstance(feed, dict):
        return Document(unread=TruncationReason.BROKEN)
    links = Links(source.url, charset="UTF-8")
    texts = []
    for key in ("home_page_url", "next_url"):
        links.add(_text(feed, key))
    for item in _records(feed, "items"):
        for key in ("url", "external_url"):
            links.add(_text(item, key))
        for attachment in _records(item, "attachments"):
            links.add(_text(attachment, "url"))
        texts += [_text(item, "title"), _text(item, "content_text")]
    return Document(
        title=_text(feed, "title"),
        links=links.found,
        text=" ".join(filter(None, texts)),
        metadata=DocumentMetadata(
            description=_text(feed, "description"), language=_text(feed, "language")
        ),
        unread=links.unread,
    )


def _text(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _records(record: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    values = record.get(key)
    return (one for one in (values if isinstance(values, list) else ()) if isinstance(one, dict))
