"""Finds the module that reads a document by its type; for compressed documents, by the first bytes.

A kind of document is a module with TYPES and `read`: one of ours, or a package's.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from crawling.machine.memory_limit import (
    READER_TURN,
    RELEASED_MEMORY,
    give_back_free_memory,
)
from crawling.web.addresses import MAX_URL_LENGTH, Address
from crawling.web.content.media_types import SCRIPTS
from crawling.web.content.script_signs import ScriptSign
from crawling.web.document_stream import GZIP_MAGIC
from crawling.web.documents import archive, pdf, text, xml
from crawling.web.documents.base import (
    MOST_TEXT,
    Document,
    DocumentMetadata,
    DocumentSource,
    Reader,
    TruncationReason,
    one_line,
)
from crawling.web.documents.extraction import MOST_VALUE_LENGTH, MOST_VALUES
from crawling.web.extensions import BadExtension, ExtensionPoint
from crawling.web.links import MOST_LINKS

logger = logging.getLogger(__name__)

OURS = "crawling.web.documents."
#: the most characters of the name of a language or a character set
MOST_WORD = 35
TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+\-]*+/[a-z0-9][a-z0-9!#$&^_.+\-]*+")


@dataclass(frozen=True, slots=True)
class ContentReader:
    types: tuple[str, ...]
    read: Reader


def _reader_of_module(name: str, module: Any, others: Mapping[str, ContentReader]) -> ContentReader:
    """Take in a module with TYPES and `read`."""
    types, read = tuple(getattr(module, "TYPES", ())), getattr(module, "read", None)
    are_types = types and all(isinstance(one, str) and TYPE.fullmatch(one) for one in types)
    if not (are_types and callable(read)):
        raise BadExtension("it needs TYPES, content types in small letters, and read, a function")
    if taken := [one for part in others.values() for one in part.types if one in types]:
        raise BadExtension(f"another part reads {taken[0]}")
    is_ours = getattr(module, "__name__", "") == f"{OURS}{name}"
    return ContentReader(types, read if is_ours else _bounded_reader(name, read))


CONTENT_TYPES = ExtensionPoint(
    "crawlsite.content_types",
    {
        name: f"{OURS}{name}"
        for name in ("html", "json_feed", "xml", "archive", "css", "pdf", "text")
    },
    _reader_of_module,
)
MEDIA_TYPES = (
    *("application/ogg", "application/vnd.apple.mpegurl", "application/dash+xml"),
    *("application/vnd.ms-fontobject", "application/font-woff", "application/x-font-ttf"),
)
#: A process that has grown by more than this returns free memory to the system. That takes a
#: millisecond, and the next documents allocate the memory again, page by page: with a limit of 8
#: MiB, which a tree of 600 KB needs, this took a tenth of a crawl's processor time
LARGE_BYTES = 32 * 1024 * 1024
#: the size of a document whose tree may need all memory of the process; free memory is returned
#: before such a document, too
LARGE_BODY = 1024 * 1024
#: a document that is read in less time has not taken so much memory; checking it would cost small
#: pages 1 %
QUICK_SECONDS = 0.005


def read_media(_source: DocumentSource) -> Document:
    """Read images, sound, film and fonts. They have no links; the page's row has their type and
    size.
    """
    return Document()


FAMILIES: dict[str, Reader] = dict.fromkeys(("image", "audio", "video", "font"), read_media)


@cache
def readers_by_type() -> dict[str, Reader]:
    return dict.fromkeys(MEDIA_TYPES, read_media) | {
        content_type: part.read
        for part in CONTENT_TYPES.parts.values()
        for content_type in part.types
    }


def reader_of(content_type: str) -> Reader | None:
    """The module for a type; None if documents of that type are stored but not read.

    XML of any type shows its kind by its root, and a text of any type may name addresses.
    """
    family = content_type.partition("/")[0]
    if found := readers_by_type().get(content_type) or FAMILIES.get(family):
        return found
    if content_type.endswith("xml"):
        return xml.read
    return text.read if family == "text" and content_type not in SCRIPTS else None


def read_document(source: DocumentSource) -> Document:
    """Read a document. If no module can read it, the result says so.

    A compressed document is recognized by its first bytes, since servers give it any type.
    """
    reader = reader_of(source.content_type)
    if source.body.start(len(GZIP_MAGIC)) == GZIP_MAGIC:
        reader = archive.read
    if not source.body:
        return Document()
    if reader is None:
        return Document(unread=TruncationReason.TYPE)
    if reader is pdf.read:
        return reader(source)
    with READER_TURN:
        return _read_within_memory(reader, source)


def _read_within_memory(reader: Reader, source: DocumentSource) -> Document:
    if len(source.body) > LARGE_BODY:
        give_back_free_memory()
    began, document = time.monotonic(), None
    # the memory of the document is free only after the `except`, and so before the log is written,
    # when other threads run that need memory themselves
    with suppress(MemoryError):
        document = reader(source)
    if time.monotonic() - began > QUICK_SECONDS:
        # otherwise the next such document takes memory in addition
        RELEASED_MEMORY.look(LARGE_BYTES)
    if document is None:
        facts = {"url": source.url, "bytes": len(source.body)}
        logger.warning("a document was not read: it takes too much memory", extra=facts)
    return document or Document(unread=TruncationReason.NO_MEMORY)


def _bounded_reader(name: str, read: Reader) -> Reader:
    """Wrap a package's reader. Its results are cut to our limits. If it fails, the document is
    stored without links and text, and the fetch thread continues.
    """

    def read_bounded(source: DocumentSource) -> Document:
        try:
            return _cut_document(read(source))
        except MemoryError:
            raise
        except Exception:
            logger.exception("the reader %s of a package failed", name, extra={"url": source.url})
            return Document(unread=TruncationReason.BROKEN)

    return read_bounded


def _cut_document(document: Document) -> Document:
    """The document, cut to the limits of a run's tables."""
    about, values = document.metadata, document.extracted[:MOST_VALUES]
    too_many = TruncationReason.LINKS if len(document.links) > MOST_LINKS else None
    return Document(
        one_line(document.title),
        one_line(document.charset, MOST_WORD),
        [link for link in document.links[:MOST_LINKS] if isinstance(link, Address)],
        document.text[:MOST_TEXT].replace("\0", ""),
        DocumentMetadata(
            one_line(about.author, 200),
            one_line(about.description),
            one_line(about.language, MOST_WORD),
            one_line(about.canonical, MAX_URL_LENGTH),
        ),
        document.script_sign if isinstance(document.script_sign, ScriptSign) else ScriptSign.NONE,
        [(one_line(n), v[:MOST_VALUE_LENGTH].replace("\0", "")) for n, v in values],
        document.sitemap_root if document.is_sitemap else "",
        TruncationReason(document.unread) if document.unread else too_many,
    )
