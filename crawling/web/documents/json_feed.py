"""JSON Feed, version 1.1 (jsonfeed.org): the page of a feed, and its entries or only their
addresses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crawling.web.documents.base import (
    MOST_TEXT,
    Document,
    DocumentMetadata,
    DocumentSource,
    LinkNotes,
    TruncationReason,
    one_line,
)
from crawling.web.feed_entries import FeedEntry, json_entries, links_in_markup
from crawling.web.links import Links

#: version 1 of the format has no media type of its own
TYPES = ("application/feed+json", "application/json")
#: a longer feed is not read at all, since the first part of a JSON text is not JSON
MOST_BYTES = 4 * 1024 * 1024


class BadFeed(ValueError):
    """The document is no JSON Feed; the sentence says why."""


def read(source: DocumentSource) -> Document:
    """Read the links of a feed: its page, the pages and attachments of its entries, and the links
    in the HTML of entries.
    """
    try:
        feed = _parse_feed(source)
    except BadFeed:
        return Document(unread=_unread_reason(source))
    links = Links(source.url, charset="UTF-8")
    for name in ("home_page_url", "next_url"):
        links.add(_member_text(feed, name))
    texts = []
    for item in _member_objects(feed, "items"):
        links.add(_member_text(item, "url"))
        links.add(_member_text(item, "external_url"))
        for attachment in _member_objects(item, "attachments"):
            links.add(_member_text(attachment, "url"))
        links.add_all(links_in_markup(_member_text(item, "content_html"), source.reading))
        texts.append(_member_text(item, "title"))
    author = next((_member_text(one, "name") for one in _member_objects(feed, "authors")), "")
    about = DocumentMetadata(
        one_line(author, 200),
        one_line(_member_text(feed, "description")),
        one_line(_member_text(feed, "language"), 35),
    )
    text = " ".join(filter(None, texts))[:MOST_TEXT].replace("\0", "")
    title = one_line(_member_text(feed, "title"))
    return Document(
        *(title, "UTF-8", links.found, text, about),
        unread=links.left_out,
        notes=LinkNotes(links.bad()),
    )


def _unread_reason(source: DocumentSource) -> TruncationReason:
    """The reason why a document is no JSON Feed. Other JSON is not expected to be one, so it has no
    such reason.
    """
    if source.content_type != TYPES[0]:
        return TruncationReason.TYPE
    is_long = len(source.body) > MOST_BYTES
    return TruncationReason.SIZE if is_long else TruncationReason.BROKEN


def json_entry_urls(source: DocumentSource) -> list[str]:
    """The addresses of a feed's entries, in order: the page of each entry or, if it has none, the
    page that the entry is about. Raises BadFeed.
    """
    links = Links(source.url, charset="UTF-8")
    for item in _member_objects(_parse_feed(source), "items"):
        links.add(_member_text(item, "url") or _member_text(item, "external_url"))
    return [address.url for address in links.found]


def entry_data(source: DocumentSource) -> Iterator[FeedEntry]:
    """The data of each entry. Raises BadFeed."""
    links = Links(source.url, charset="UTF-8")
    return json_entries(_member_objects(_parse_feed(source), "items"), links)


def _parse_feed(source: DocumentSource) -> dict[str, Any]:
    if len(source.body) > MOST_BYTES:
        raise BadFeed(f"the feed is larger than {MOST_BYTES // 2**20} MB")
    try:
        feed = json.loads(source.body.start(MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise BadFeed("the document is no JSON") from error
    if not isinstance(feed, dict) or not isinstance(feed.get("items"), list):
        raise BadFeed("the document is JSON, but no JSON Feed: it has no list of items")
    return feed


def _member_objects(holder: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    found = holder.get(name)
    return (one for one in found if isinstance(one, dict)) if isinstance(found, list) else iter(())


def _member_text(holder: dict[str, Any], name: str) -> str:
    found = holder.get(name)
    return found if isinstance(found, str) else ""
