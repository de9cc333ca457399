"""HTML as browsers read it, within limits of size and processor time."""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Iterator
from typing import NamedTuple

import turbohtml
from turbohtml.detect import detect

from crawling.machine.memory_limit import resident_bytes
from crawling.web.content.encodings import encoding_name
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import TruncationReason
from crawling.web.documents.charsets import (
    GUESSED_FROM,
    MARKS,
    encoding_within,
    is_utf_8,
    utf_16_without_a_mark,
)

#: the most bytes of a document that are read. Google's crawler reads 2 MB of a page
MOST_BYTES = 4 * 1024 * 1024
SLICE_BYTES = 4096
#: smaller documents with fewer tags are read in one step, which is faster: their tree has at most
#: 56 MB, although a tag may open the elements of all earlier tags again
SMALL_BYTES, SMALL_TAGS = 32 * 1024, 1300
#: A page takes about 10 ns and up to 15 bytes of memory a byte. A page that takes more has tags
#: that the standard turns into ever more elements (section 13.2.4.3: formatting elements that are
#: opened again), 1 GB of them a second. Reading ends at this time, which the parser's last step may
#: double.
MOST_SECONDS = 0.05
MOST_SECONDS_PER_BYTE = 1e-7
MOST_MEMORY_BYTES = 60 * 1024 * 1024
#: the processor time between two checks of memory, each of which takes as long as 10 KB of a page;
#: most pages take less time than this
LOOK_SECONDS = 0.002
#: the head of a `data:` URL (RFC 2397), which is kept, and its content
INLINED = re.compile(
    rb"""(data:[\w.+/-]{0,100}+(?:;[\w.=+-]{0,60}+){0,4}+,)[\w+/=%-]{64,}+""", re.IGNORECASE
)
DATA_BYTES = bytes([*range(0x30, 0x3A), *range(0x41, 0x5B), *range(0x61, 0x7B), *b"+/=%-_"])
LONGEST_DATA_HEAD = 400
BYTE_ORDER_MARKS = tuple(mark for mark, _ in MARKS)
#: `meta` elements state the encoding within these bytes; the standard forbids it later
HEAD_BYTES = 1024
LATE_META = re.compile(
    rb"""<meta\s[^>]{0,300}?charset\s{0,20}=\s{0,20}["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE
)

#: no document without this word has such a tree; as bytes, or decoded
MARK, DECODED_MARK = b"shadowroot", "shadowroot"


class ParsedTree(NamedTuple):
    """The tree of a document or of its beginning, its encoding, and the reason why the rest was not
    read.
    """

    document: turbohtml.Document
    encoding: str
    unread: TruncationReason | None = None


def parse_html(body: DocumentStream, charset: str | None, *, positions: bool = False) -> ParsedTree:
    """Parse a document, whether valid or not. charset: the character set that the server named, if
    any.

    positions: elements know the places of their tags.
    """
    encoding = encoding_of(body, charset)
    # in every encoding of the web a tag begins with this byte
    if len(body) <= SMALL_BYTES and (text := body.read()).count(b"<") <= SMALL_TAGS:
        document = turbohtml.parse(text, encoding=encoding, positions=positions)
        if MARK in text:
            merge_shadow_trees(document)
        return ParsedTree(document, encoding)
    parser = turbohtml.IncrementalParser(encoding=encoding, positions=positions)
    limits, unread, mark = _Limits(), None, ShadowMark()
    inlined = _InlinedData(is_cut=len(body) > MOST_BYTES and not encoding.startswith("UTF-16"))
    for part, read in _parser_input(body, encoding, inlined):
        parser.feed(part)
        mark.search_piece(part)
        if read < len(body) and (unread := limits.reached(read, fed=read - inlined.length)):
            break
    document = parser.close()
    if mark.is_found:
        merge_shadow_trees(document)
    return ParsedTree(document, encoding, unread)


def _parser_input(
    body: DocumentStream, encoding: str, inlined: _InlinedData
) -> Iterator[tuple[str | bytes, int]]:
    """A document in parts, each with the number of bytes read so far.

    UTF-8 is decoded here, since the parser would call its decoder for each part.
    """
    decoder, begin = codecs.getincrementaldecoder("utf-8-sig")("replace"), 0
    for piece in body.pieces():
        shown = inlined.remove_data(piece)
        part = decoder.decode(shown) if encoding == "UTF-8" else shown
        for at in range(0, len(part), SLICE_BYTES):
            end = at + SLICE_BYTES
            yield part[at:end], begin + (len(piece) if end >= len(part) else end)
        begin += len(piece)


class ShadowMark:
    """Looks for the word in a document that comes in pieces, decoded or not."""

    def __init__(self) -> None:
        self.is_found = False
        self._end: str | bytes = ""

    def search_piece(self, piece: str | bytes) -> None:
        if isinstance(piece, str):
            end = self._end if isinstance(self._end, str) else ""
            found = DECODED_MARK in f"{end}{piece}"
        else:
            end_bytes = self._end if isinstance(self._end, bytes) else b""
            found = MARK in end_bytes + piece
        self.is_found, self._end = self.is_found or found, piece[1 - len(MARK) :]


def merge_shadow_trees(document: turbohtml.Document) -> None:
    """Move the content of declarative shadow trees (HTML Standard, 4.12.3) into the elements that
    have them, before their own children, so that links, text and rules find it. Takes linear time.
    Trees of the mode `closed` are not read: the parser keeps them to itself, as browsers do.
    """
    waiting: list[turbohtml.Document | turbohtml.Element] = [document]
    while waiting:
        for host in [one for one in _all_elements(waiting.pop()) if one.shadow_root is not None]:
            assert host.shadow_root is not None
            moved = list(host.shadow_root.children)
            for node in reversed(moved):
                host.insert(0, node)
            waiting += [node for node in moved if isinstance(node, turbohtml.Element)]


def _all_elements(root: turbohtml.Document | turbohtml.Element) -> Iterator[turbohtml.Element]:
    if isinstance(root, turbohtml.Element):
        yield root
    yield from root.iter_elements()


class _InlinedData:
    """Takes the content of `data:` URLs out of a page that exceeds the limit of size: images lead
    nowhere, and such pages consist mostly of images.

    length: the number of bytes that were taken out, or are held back for the next piece.
    """

    def __init__(self, *, is_cut: bool) -> None:
        self.length = 0
        self._is_cut, self._is_within, self._held = is_cut, False, b""

    def remove_data(self, piece: bytes) -> bytes:
        if not self._is_cut:
            return piece
        self.length += len(piece)
        if self._is_within:
            piece = piece.lstrip(DATA_BYTES)
            self._is_within = not piece
        piece = self._held + piece
        self.length -= len(self._held)
        ends = [found.end() for found in INLINED.finditer(piece)]
        self._is_within = self._is_within or (bool(ends) and ends[-1] == len(piece))
        begun = -1 if self._is_within else piece.rfind(b"data:", -LONGEST_DATA_HEAD)
        self._held = piece[begun:] if begun >= 0 and begun >= (ends or [0])[-1] else b""
        shown = INLINED.sub(rb"\1", piece[: len(piece) - len(self._held)])
        self.length -= len(shown)
        return shown


class _Limits:
    """The limits of one document. No other document is read meanwhile, so all growth of memory
    belongs to this one.

    Memory is counted from the first check on, when the document may already have taken a few MB.
    """

    def __init__(self) -> None:
        self._began = time.thread_time()
        self._looks_at = self._began + LOOK_SECONDS
        self._memory: int | None = None

    def reached(self, read: int, *, fed: int) -> TruncationReason | None:
        """The limit that a document has reached. read: the bytes of it that were read. fed: the
        bytes that the parser got.
        """
        if fed >= MOST_BYTES:
            return TruncationReason.SIZE
        now = time.thread_time()
        if now < self._looks_at:
            return None
        self._looks_at = now + LOOK_SECONDS
        if now - self._began > MOST_SECONDS + read * MOST_SECONDS_PER_BYTE:
            return TruncationReason.TIME
        if self._memory is None:
            self._memory = resident_bytes()
        grown = resident_bytes() - self._memory
        return TruncationReason.MEMORY if grown > MOST_MEMORY_BYTES else None


def encoding_of(body: DocumentStream, charset: str | None) -> str:
    """The encoding that a browser would use (section 13.2.3.2). UTF-16 without a byte order mark is
    recognized.
    """
    start = body.start(GUESSED_FROM)
    try:
        head = turbohtml.parse(start[:HEAD_BYTES], encoding=charset, positions=False)
    except LookupError:  # the server named a character set that does not exist
        head = turbohtml.parse(start[:HEAD_BYTES], positions=False)
    if head.encoding_confidence == "certain" and head.encoding:
        return head.encoding
    if name := encoding_within(start):  # "get an XML encoding"
        return name
    if name := utf_16_without_a_mark(start):
        return {"utf-16-le": "UTF-16LE", "utf-16-be": "UTF-16BE"}[name]
    if (late := LATE_META.search(start)) and (name := _encoding_read_as_ascii(late[1].decode())):
        return name
    if all(piece.isascii() for piece in body.pieces(MOST_BYTES)):
        return "windows-1252"
    if is_utf_8(body, MOST_BYTES):
        return "UTF-8"
    return _encoding_read_as_ascii(detect(start).encoding or "") or "windows-1252"


def charset_by_type(body: DocumentStream, content_type: str, charset: str | None) -> str | None:
    """The character set for `parse_html`. For XHTML without a character set from the server, the
    character set of the XML declaration, else UTF-8 (XML 1.0, section 4.3.3; RFC 7303, section 3).
    Browsers refuse such XML if it is not UTF-8; here it is read as HTML.
    """
    start = body.start(GUESSED_FROM) if content_type.endswith("xml") else b""
    if not start or start.startswith(BYTE_ORDER_MARKS) or encoding_name(charset or ""):
        return charset
    if name := encoding_within(start):
        return name
    if utf_16_without_a_mark(start) or not is_utf_8(body, MOST_BYTES):
        return None
    return "UTF-8"


def _encoding_read_as_ascii(label: str) -> str:
    """The standard's name for a label that a text states in ASCII; "" if no encoding has the label.
    UTF-16 becomes UTF-8, since a text in UTF-16 cannot state its encoding in ASCII.
    """
    name = encoding_name(label)
    return "UTF-8" if name.startswith("UTF-16") else name
