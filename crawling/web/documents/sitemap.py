"""Sitemaps and their indexes (sitemaps.org 0.9): every `loc`, its `lastmod`, and the other
languages of each page.

They may have 50 MB, so they are read as a stream: only the text of one element is in memory.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from xml.parsers import expat

from crawling.web.addresses import MAX_URL_LENGTH, canonical_address
from crawling.web.document_stream import MOST_UNPACKED, DocumentStream
from crawling.web.documents.base import Document, DocumentSource, TruncationReason
from crawling.web.documents.markup import attribute, elements, leaf_text, name_of, read_markup
from crawling.web.links import MOST_LINKS, Links

#: no type is their own: `xml` finds them by their root
INDEX = "sitemapindex"
ROOTS = frozenset({"urlset", INDEX})
#: each has one `loc`
ENTRIES = frozenset({"url", "sitemap"})
#: characters of a moment (W3C-DTF)
LONGEST_MOMENT = 40
#: what one may have unpacked (sitemaps.org)
MOST_BYTES = 50 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
#: expat before 2.6 begins a tag again with every chunk until it has its end
LONGEST_TAG = 16 * CHUNK_BYTES
#: 50,000 entries take half a second
MOST_SECONDS = 2.0
#: expat keeps all open elements and all names in memory
DEEPEST = 100
MOST_NAMES = 1000
#: a reference to an entity that was not expanded
REFERENCE = re.compile(r"&[A-Za-z][A-Za-z0-9._-]*;")


def read(source: DocumentSource) -> Document:
    """Read a sitemap of any quality."""
    document = read_chunks(source, source.body.pieces(MOST_BYTES, CHUNK_BYTES))
    is_whole = len(source.body) <= MOST_BYTES
    return document if is_whole else replace(document, unread=TruncationReason.SIZE)


def read_chunks(source: DocumentSource, chunks: Iterable[bytes]) -> Document:
    """Read a sitemap that comes in parts; the beginning of one that is broken, as browsers do."""
    links = Links(source.url, charset="UTF-8")
    stream = _Stream(links, _Entry(links, f"{canonical_address(source.url).origin}/"))
    head, size = bytearray(), 0
    for chunk in chunks:
        size += len(chunk)
        if len(head) < MOST_UNPACKED:
            head += chunk
        elif stream.is_broken:
            break
        if not stream.is_broken:
            stream.feed(chunk)
        if stream.unread:
            break
    if stream.is_broken:
        document = _lenient(source, bytes(head), links)
        rest = TruncationReason.SIZE if size > len(head) else None
        return replace(document, unread=document.unread or rest)
    return Document(
        charset=stream.charset,
        links=links.found,
        modified=stream.entry.modified,
        unread=stream.unread,
    )


def read_moment(text: str) -> datetime | None:
    """A `lastmod`, of a day its beginning in UTC; None for what is none, or less precise."""
    text = text.strip()
    if len(text) > LONGEST_MOMENT:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class _Entry:
    """What the entry that is being read says, and when pages were changed last by those before.

    site: how the addresses begin of which that counts.
    """

    def __init__(self, links: Links, site: str) -> None:
        self.modified: dict[str, datetime] = {}
        self._links, self._site = links, site
        self._target = self._moment = ""

    def begin(self) -> None:
        self._target = self._moment = ""

    def take(self, name: str, text: str) -> None:
        """The text of one of its elements, `loc` or `lastmod`."""
        if name == "lastmod":
            self._moment = text
            return
        found = self._links.found
        before = len(found)
        self._links.add(text)
        is_new = len(found) > before
        # to join it a second time would take as long as all else that is done with an entry
        self._target = found[-1].url if is_new else self._links.target_of(text.partition("#")[0])

    def end(self) -> None:
        if self._moment and self._target.startswith(self._site):
            moment = read_moment(self._moment)
            if moment and len(self.modified) < MOST_LINKS:
                self.modified[self._target] = moment


class _Stream:
    """What is well-formed, up to a limit or the first mistake."""

    def __init__(self, links: Links, entry: _Entry) -> None:
        self.charset = "utf-8"
        self.is_broken = False
        self.entry = entry
        self._links = links
        self._until = time.thread_time() + MOST_SECONDS
        self._text: list[str] | None = None
        self._length = self._depth = self._fed = 0
        self._names: dict[str, str] = {}
        self._parser = expat.ParserCreate(intern=self._names)
        self._parser.buffer_text = True
        self._parser.XmlDeclHandler = self._declare
        self._parser.EntityDeclHandler = self._declare_entity
        self._parser.SkippedEntityHandler = self._skip_entity
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data

    def feed(self, chunk: bytes) -> None:
        try:
            self._parser.Parse(chunk if self._fed else chunk.lstrip())
        except (expat.ExpatError, LookupError, ValueError):
            self.is_broken = True
        self._fed += len(chunk)
        is_stuck = self._fed - self._parser.CurrentByteIndex > LONGEST_TAG
        if is_stuck or self._depth > DEEPEST or len(self._names) > MOST_NAMES:
            self.is_broken = True

    @property
    def unread(self) -> TruncationReason | None:
        return self._links.unread or (
            TruncationReason.TIME if time.thread_time() > self._until else None
        )

    def _declare(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.charset = (encoding or self.charset).lower()

    def _declare_entity(self, *_declaration: object) -> None:
        raise ValueError("a document's own entities are never expanded")

    def _skip_entity(self, *_reference: object) -> None:
        self._text = None

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if name.lower() in ENTRIES:
            self.entry.begin()
        # A `loc` with a prefix names an image; one with elements within it names nothing.
        self._text = [] if name.lower() in ("loc", "lastmod") else None
        self._length = 0
        if name.rpartition(":")[2].lower() == "link":
            self._links.add(attributes.get("href", ""))

    def _data(self, data: str) -> None:
        if self._text is not None and self._length <= MAX_URL_LENGTH:
            self._text.append(data)
            self._length += len(data)

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._text:
            self.entry.take(name.lower(), "".join(self._text))
        self._text = None
        if name.lower() in ENTRIES:
            self.entry.end()


def _lenient(source: DocumentSource, body: bytes, links: Links) -> Document:
    document, charset, unread = read_markup(replace(source, body=DocumentStream.of(body)))
    for element in elements(document):
        if element.tag.lower() == "loc":
            text = leaf_text(element)
            if not REFERENCE.search(text):
                links.add(text)
        elif name_of(element) == "link":
            links.add(attribute(element, "href"))
    return Document(charset=charset, links=links.found, unread=unread or links.unread)
