"""The input and the output of every module that reads content."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from crawling.web.addresses import MAX_URL_LENGTH, Address
from crawling.web.content.script_signs import ScriptSign
from crawling.web.document_stream import DocumentStream


class TruncationReason(StrEnum):
    """The reason why reading ended before the document's end, or did not begin."""

    SIZE = "size"
    TIME = "time"
    MEMORY = "memory"
    LINKS = "links"
    LENGTH = "length"
    BROKEN = "broken"
    COPY = "copy"
    BUSY = "busy"
    TYPE = "type"
    NO_MEMORY = "no memory"
    NO_TIME = "no time"

    @property
    def sentence(self) -> str:
        return SENTENCES[self]


SENTENCES = {
    TruncationReason.SIZE: "Only its beginning was read: it is larger than documents of its "
    "kind are read.",
    TruncationReason.TIME: "It was read in part: reading it took too much processor time.",
    TruncationReason.MEMORY: "It was read in part: reading it took too much memory.",
    TruncationReason.LINKS: "Not all of its links were taken: it has more than are taken of one "
    "document.",
    TruncationReason.LENGTH: "Not all of its links were taken: some are longer than "
    f"{MAX_URL_LENGTH:,} characters.",
    TruncationReason.COPY: "It was not read: its content is that of an earlier page of the run, "
    "and the order leaves copies unread.",
    TruncationReason.BUSY: "It was not read: no memory came free for its reader in time.",
    TruncationReason.BROKEN: "It was read in part: it breaks off, is damaged, or is locked by a "
    "password.",
    TruncationReason.TYPE: "It was not read: there is no reader for documents of its type.",
    TruncationReason.NO_MEMORY: "It was not read: reading it takes more memory than there is for "
    "it.",
    TruncationReason.NO_TIME: "It was not read: its reader took too much processor time.",
}


#: text behind this changes neither the abstract nor the similarity of two pages
MOST_TEXT = 32_768
MAX_TITLE_LENGTH = 500


@dataclass(frozen=True, slots=True)
class ReadingRules:
    #: whether links marked `nofollow`, and links of pages so marked, are left alone
    obey_nofollow: bool = False
    #: whether the parts of a page (images, style sheets, scripts, media) count as links, too
    requisites: bool = False
    #: name -> CSS selector of values to extract from every HTML page
    extract: Mapping[str, str] = field(default_factory=dict)
    #: the name by which pages address this crawler alone; empty if there is none
    robots_token: str = ""


class ReaderMemory(Protocol):
    @property
    def most(self) -> int:
        """The most bytes of memory that one reader may use."""
        ...

    def reserve(self, size: int) -> bool:
        """Reserve `size` bytes for the calling thread, which may have to wait for them. Return
        whether they are reserved.
        """
        ...

    def release(self) -> None: ...


class UnlimitedMemory:
    """The memory of readers outside shifts, which have no grant."""

    most = sys.maxsize

    def reserve(self, size: int) -> bool:
        return True

    def release(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class DocumentSource:
    body: DocumentStream
    url: str
    content_type: str
    #: the character set that the server named
    charset: str | None = None
    reading: ReadingRules = field(default_factory=ReadingRules)
    #: the memory for a program that reads the document
    memory: ReaderMemory = field(default_factory=UnlimitedMemory)


class DocumentMetadata(NamedTuple):
    author: str = ""
    description: str = ""
    language: str = ""
    #: the address that the document prefers for itself
    canonical: str = ""


NO_METADATA = DocumentMetadata()


class LinkNotes(NamedTuple):
    #: the faults of addresses in a feed, a sitemap or a style sheet that cannot be followed, with
    #: the number of addresses for each
    bad: Mapping[str, int] = {}
    #: by URL, the times at which linked pages last changed, as the document states
    modified: Mapping[str, datetime] = {}


NO_NOTES = LinkNotes()
#: root elements of sitemaps.org
SITEMAP_INDEX = "sitemapindex"
SITEMAP_ROOTS = ("urlset", SITEMAP_INDEX)


@dataclass(frozen=True, slots=True)
class Document:
    title: str = ""
    charset: str = ""
    links: list[Address] = field(default_factory=list)
    #: the text that a reader sees, up to MOST_TEXT characters
    text: str = ""
    metadata: DocumentMetadata = NO_METADATA
    #: the part that scripts, which are not run here, have in its content
    script_sign: ScriptSign = ScriptSign.NONE
    #: (name, value) in document order
    extracted: list[tuple[str, str]] = field(default_factory=list)
    #: the root element of the document, if it is in SITEMAP_ROOTS
    sitemap_root: str = ""
    #: the reason why links after the beginning are unknown; None if the whole document was read
    unread: TruncationReason | None = None
    #: the links as written, including those not to be followed, as
    #: `crawling.web.documents.written_links` collects them; empty unless the document is HTML
    written: bytes = b""
    #: the base of relative links, as the page states it
    base: str = ""
    notes: LinkNotes = NO_NOTES

    @property
    def needs_browser(self) -> bool:
        return self.script_sign.is_strong

    @property
    def modified(self) -> Mapping[str, datetime]:
        return self.notes.modified

    @property
    def is_sitemap(self) -> bool:
        """Whether the document is a sitemap, or an index of sitemaps."""
        return self.sitemap_root in SITEMAP_ROOTS

    @property
    def is_index(self) -> bool:
        """Whether the links of the document lead to sitemaps."""
        return self.sitemap_root == SITEMAP_INDEX


Reader = Callable[[DocumentSource], Document]


def one_line(text: str | None, most: int = MAX_TITLE_LENGTH) -> str:
    """Text as one line of bounded length that a database can store."""
    return " ".join((text or "")[: 4 * most].split())[:most].replace("\0", "")
