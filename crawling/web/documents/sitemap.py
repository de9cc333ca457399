"""Sitemaps and sitemap indexes (sitemaps.org 0.9): every `loc`, its `lastmod`, and the other
languages of each page.

A sitemap may have 50 MB, so it is read as a stream: only the text of one element is in memory. A
fault costs only its own entry: after a fault, each entry is read as a separate document.
"""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from xml.parsers import expat

from crawling.web.addresses import MAX_URL_LENGTH, Address, canonical_address
from crawling.web.documents.base import Document, DocumentSource, LinkNotes, TruncationReason
from crawling.web.documents.charsets import TextDecoder, decoder_for
from crawling.web.links import MOST_LINKS, Links

#: each has one `loc`
ENTRIES = frozenset({"url", "sitemap"})
#: the most characters of a time (W3C-DTF)
LONGEST_MOMENT = 40
#: the largest sitemap, unpacked (sitemaps.org)
MOST_BYTES = 50 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
#: the most bytes without the end of an entry; expat before version 2.6 reads an incomplete tag
#: again with every chunk
LONGEST_TAG = 16 * CHUNK_BYTES
#: the most time for a sitemap: 50,000 entries take half a second, and twice as much if each is read
#: separately
MOST_SECONDS = 3.0
#: expat keeps all open elements and all names in memory
DEEPEST = 100
MOST_NAMES = 1000
#: the most characters of an entry that is read separately; an entry in 50 languages has 10,000
LONGEST_ENTRY = 128 * 1024
BLANKS = b" \t\r\n"
#: the beginning of an entry, with any prefix
ENTRY = re.compile(r"<(?:[\w.-]{1,60}+:)?+(?:url|sitemap)(?=[\s>/])", re.IGNORECASE)
COMMENT, COMMENT_END = "<!--", "-->"
#: the declaration of a document, and the declaration of its type
DECLARATION = re.compile(r"<(?:\?|!(?!\[))[^>]*+>")
#: an ampersand that begins no reference, as in addresses that were not escaped
BARE_MARK = re.compile(r"&(?!(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9._-]{0,60});)")
#: a reference that XML does not define (section 4.6); a `loc` with such a reference would otherwise
#: be lost
UNKNOWN = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9._-]{0,60};")
#: characters that XML does not allow (section 2.2)
NO_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read(source: DocumentSource) -> Document:
    """Read a sitemap, whether valid or not."""
    document = _read_chunks(source, source.body.pieces(MOST_BYTES, CHUNK_BYTES))
    is_whole = len(source.body) <= MOST_BYTES
    return document if is_whole else replace(document, unread=TruncationReason.SIZE)


def _read_chunks(source: DocumentSource, chunks: Iterable[bytes]) -> Document:
    found = _SitemapLinks(source.url)
    stream, recovery = _Stream(found), None
    until = time.thread_time() + MOST_SECONDS
    for number, chunk in enumerate(chunks):
        if recovery:
            recovery.feed(chunk)
        else:
            stream.feed(chunk if number else _strip_leading_blanks(chunk))
        if recovery is None and stream.is_broken:
            decoder, stream.charset = decoder_for(source.body, source.charset)
            recovery = _EntryReader(found, decoder)
            recovery.feed(bytes(stream.pending))
        if time.thread_time() > until:
            found.unread = TruncationReason.TIME
        if found.is_full:
            break
    if not found.is_full:
        if recovery:
            recovery.end()
        else:
            stream.end()
    return Document(
        charset=stream.charset,
        links=found.links(),
        unread=found.why_unread,
        notes=LinkNotes(found.bad_links(), found.modified),
    )


def _strip_leading_blanks(chunk: bytes) -> bytes:
    """The chunk without leading blanks, which are frequent, although they are not allowed before
    the declaration.
    """
    text = chunk.removeprefix(codecs.BOM_UTF8)
    return text.lstrip(BLANKS) if text[:1] in BLANKS or text is not chunk else chunk


def read_moment(text: str) -> datetime | None:
    """The time of a `lastmod`; for a date, the beginning of the day in UTC. None if it is invalid
    or less precise.
    """
    text = text.strip()
    if len(text) > LONGEST_MOMENT:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class _SitemapLinks:
    """The addresses of a sitemap's entries, and the times at which pages last changed.

    The protocol limits the number of entries; addresses in other languages have a separate limit.
    """

    def __init__(self, url: str) -> None:
        self.modified: dict[str, datetime] = {}
        self.unread: TruncationReason | None = None
        #: whether an entry was not read to its end
        self.is_damaged = False
        self._pages, self._alternates = (Links(url, charset="UTF-8") for _ in range(2))
        #: the prefix of addresses whose times of change count
        self._site = f"{canonical_address(url).origin}/"
        self._target = self._moment = ""

    @property
    def is_full(self) -> bool:
        return bool(self.unread or self._pages.unread)

    @property
    def why_unread(self) -> TruncationReason | None:
        damaged = TruncationReason.BROKEN if self.is_damaged else None
        return self.unread or self._pages.left_out or self._alternates.left_out or damaged

    def links(self) -> list[Address]:
        pages = self._pages.found
        known = {address.url for address in pages}
        return pages + [other for other in self._alternates.found if other.url not in known]

    def bad_links(self) -> dict[str, int]:
        pages, others = self._pages.bad(), self._alternates.bad()
        return {told: pages.get(told, 0) + others.get(told, 0) for told in pages | others}

    def begin(self) -> None:
        self._target = self._moment = ""

    def take(self, name: str, text: str) -> None:
        """Take in the text of an element of an entry, `loc` or `lastmod`."""
        if name == "lastmod":
            self._moment = text
            return
        found = self._pages.found
        before = len(found)
        self._pages.add(text)
        is_new = len(found) > before
        # resolving it a second time would take as long as all other work on an entry
        self._target = found[-1].url if is_new else self._pages.target_of(text.partition("#")[0])

    def take_alternate(self, text: str) -> None:
        self._alternates.add(text)

    def end(self) -> None:
        if self._moment and self._target.startswith(self._site):
            moment = read_moment(self._moment)
            if moment and len(self.modified) < MOST_LINKS:
                self.modified[self._target] = moment


class _EntryTexts:
    """Handles the events of an expat parser.

    The elements of an entry are those in its own namespace: a `loc` in another namespace names an
    image. separator: the text between a namespace and a name.
    """

    def __init__(self, found: _SitemapLinks, parser: Any, separator: str) -> None:
        self.depth = 0
        self.ended_at = 0
        self._found, self._parser, self._separator = found, parser, separator
        self._own, self._entry = "", 0
        self._text: list[str] | None = None
        self._length = 0
        parser.buffer_text = True
        parser.EntityDeclHandler = self._declare_entity
        parser.SkippedEntityHandler = self._skip_entity
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data

    @property
    def is_in_entry(self) -> bool:
        return self._entry > 0

    def _declare_entity(self, *_declaration: object) -> None:
        raise ValueError("a document's own entities are never expanded")

    def _skip_entity(self, *_reference: object) -> None:
        self._text = None

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        space, _, local = name.rpartition(self._separator)
        local = local.lower()
        self._text, self._length = None, 0
        if local in ENTRIES and not self._entry:
            self._own, self._entry = space, self.depth
            self._found.begin()
        elif local in ("loc", "lastmod"):
            # an element that contains others names nothing
            self._text = [] if space == self._own else None
        elif local == "link":
            self._found.take_alternate(attributes.get("href", ""))
        elif self.depth == 1:
            self._own = space

    def _data(self, data: str) -> None:
        if self._text is not None and self._length <= MAX_URL_LENGTH:
            self._text.append(data)
            self._length += len(data)

    def _end(self, name: str) -> None:
        if self._text:
            self._found.take(name.rpartition(self._separator)[2].lower(), "".join(self._text))
        self._text = None
        if self.depth == self._entry:
            self._entry = 0
            self._found.end()
            self.ended_at = self._parser.CurrentByteIndex
        self.depth -= 1


class _Stream:
    """The well-formed part of a document, up to a limit or the first mistake.

    pending: the text that was fed after the last complete entry.
    """

    def __init__(self, found: _SitemapLinks) -> None:
        self.charset = "utf-8"
        self.is_broken = False
        self.pending = bytearray()
        self._names: dict[str, str] = {}
        self._parser = expat.ParserCreate(namespace_separator=" ", intern=self._names)
        self._parser.XmlDeclHandler = self._declare
        self._found, self._elements = found, _EntryTexts(found, self._parser, " ")
        self._pending_from = 0

    def feed(self, chunk: bytes) -> None:
        self.pending += chunk
        try:
            self._parser.Parse(chunk)
        except (expat.ExpatError, LookupError, ValueError):
            self.is_broken = True
        ended_at = self._elements.ended_at
        del self.pending[: ended_at - self._pending_from]
        self._pending_from = ended_at
        is_stuck = len(self.pending) > LONGEST_TAG
        if is_stuck or self._elements.depth > DEEPEST or len(self._names) > MOST_NAMES:
            self.is_broken = True

    def end(self) -> None:
        try:
            self._parser.Parse(b"", True)
        except expat.ExpatError:
            self._found.is_damaged = True  # the document breaks off

    def _declare(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.charset = (encoding or self.charset).lower()


class _EntryReader:
    """Reads the document after a mistake, each entry separately."""

    def __init__(self, found: _SitemapLinks, decoder: TextDecoder) -> None:
        self._found, self._decoder = found, decoder
        self._text = ""

    def feed(self, chunk: bytes) -> None:
        self._read_entries(self._decoder.decode(chunk), is_last=False)

    def end(self) -> None:
        self._read_entries(self._decoder.decode(b"", is_last=True), is_last=True)

    def _read_entries(self, more: str, *, is_last: bool) -> None:
        text, held = _strip_comments(self._text + more)
        if is_last or len(held) > LONGEST_ENTRY:
            text, held = text + held, ""
        starts = [found.start() for found in ENTRY.finditer(text)]
        for begin, end in pairwise([0, *starts]):
            self._read(text[begin:end])
        last = text[starts[-1] :] if starts else text
        if is_last:
            self._read(last)
        is_long = len(last) > LONGEST_ENTRY
        self._found.is_damaged |= is_long
        self._text = ("" if is_long else last) + held

    def _read(self, entry: str) -> None:
        """Read an entry up to its first mistake, if it has one."""
        if self._found.is_full:
            return
        if len(entry) > LONGEST_ENTRY:
            self._found.is_damaged = True
            return
        if not ENTRY.match(entry):
            entry = DECLARATION.sub("", entry)
        entry = NO_CHARACTERS.sub("", entry)
        if "<![CDATA[" not in entry:
            entry = UNKNOWN.sub("<unknown/>", BARE_MARK.sub("&amp;", entry))
        parser = expat.ParserCreate()
        elements = _EntryTexts(self._found, parser, ":")
        with suppress(expat.ExpatError, ValueError):
            parser.Parse(f"<urlset>{entry}")
        self._found.is_damaged |= elements.is_in_entry


def _strip_comments(text: str) -> tuple[str, str]:
    """A text without its comments, and an unfinished comment at its end."""
    parts: list[str] = []
    at = 0
    while (begin := text.find(COMMENT, at)) >= 0:
        end = text.find(COMMENT_END, begin + len(COMMENT))
        if end < 0:
            return "".join([*parts, text[at:begin]]), text[begin:]
        parts.append(text[at:begin])
        at = end + len(COMMENT_END)
    return "".join([*parts, text[at:]]), ""
