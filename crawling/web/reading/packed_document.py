"""A read HTML document and the facts of its text as bytes: one process hands them to another.

A hostile document may have taken over the process that sends the bytes, so their format has only
texts and numbers.
"""

from __future__ import annotations

from crawling.web.addresses import Address, canonical_address
from crawling.web.content.script_signs import ScriptSign
from crawling.web.content.text_facts import TextFacts
from crawling.web.documents.base import (
    Document,
    DocumentMetadata,
    TruncationReason,
)

#: stands between the parts; neither an address nor a text of a document has one
MARK = "\0"
#: a script may write half of a character, which UTF-8 does not know
ERRORS = "surrogatepass"
#: the parts of a document in front of its links and its extracted values
WORDS = 9
#: the parts behind all others: the facts of the text, and the text
BEHIND = 5
#: the most addresses that an unpacker remembers, and the most characters of such an address
MOST_SHARED, LONGEST_SHARED = 16_384, 300


#: the reasons for which HTML is read in part
IN_PART = {
    TruncationReason.SIZE,
    TruncationReason.TIME,
    TruncationReason.MEMORY,
    TruncationReason.LINKS,
    TruncationReason.LENGTH,
}
#: the kinds of a key of a text, in front of it
NUMBER, WHOLE = "#", "="


def pack_document(document: Document, facts: TextFacts) -> bytes:
    """Pack what an HTML document has, which is neither a sitemap's root nor notes on links."""
    about = document.metadata
    parts = [
        str(len(document.links)),
        str(len(document.extracted)),
        document.title,
        document.charset,
        document.base,
        about.author,
        about.description,
        about.language,
        about.canonical,
        document.script_sign,
        document.unread or "",
        *(link.url for link in document.links),
        *(part for pair in document.extracted for part in pair),
        facts.abstract,
        "" if facts.simhash is None else str(facts.simhash),
        _packed_key(facts.key),
        " ".join(map(str, facts.marks)),
        document.text,
    ]
    text = MARK.join(parts).encode(errors=ERRORS)
    return b"%d\n%b%b" % (len(text), text, document.written)


def _packed_key(key: int | bytes | None) -> str:
    if isinstance(key, bytes):
        return WHOLE + key.hex()
    return "" if key is None else f"{NUMBER}{key}"


def _unpacked_key(packed: str) -> int | bytes | None:
    kind, key = packed[:1], packed[1:]
    if kind == WHOLE:
        return bytes.fromhex(key)
    return _read_number(key) if kind == NUMBER else None


def _read_number(text: str) -> int:
    """A number of 64 bits, signed. Raises ValueError for others."""
    number = int(text)
    if number.bit_length() > 63:
        raise ValueError("a number has more than 64 bits")
    return number


class Unpacker:
    """Unpacks documents, and remembers addresses: pages of a site share most of their links.
    Threads may share it.
    """

    def __init__(self) -> None:
        self._known: dict[str, Address] = {}

    def unpack(self, packed: bytes) -> tuple[Document, TextFacts]:
        """Raises ValueError if `pack_document` cannot have made the bytes."""
        size, _, rest = packed.partition(b"\n")
        end = int(size)
        links, values, *parts = rest[:end].decode(errors=ERRORS).split(MARK)
        behind = WORDS + int(links)
        if len(parts) != behind + 2 * int(values) + BEHIND:
            raise ValueError("the numbers of a packed document's parts are wrong")
        title, charset, base, author, description, language, canonical, scripts, unread = parts[
            :WORDS
        ]
        extracted = parts[behind:-BEHIND]
        abstract, simhash, key, marks, text = parts[-BEHIND:]
        if unread and unread not in IN_PART:
            raise ValueError("HTML is not left unread for such a reason")
        document = Document(
            title=title,
            charset=charset,
            links=self._shared_addresses(parts[WORDS:behind]),
            text=text,
            metadata=DocumentMetadata(author, description, language, canonical),
            extracted=list(zip(extracted[::2], extracted[1::2], strict=True)),
            unread=TruncationReason(unread) if unread else None,
            written=rest[end:],
            base=base,
            script_sign=ScriptSign(scripts),
        )
        facts = TextFacts.from_values(
            abstract,
            _read_number(simhash) if simhash else None,
            _unpacked_key(key),
            {_read_number(mark) & 0xFFFFFFFF for mark in marks.split()},
        )
        return document, facts

    def _shared_addresses(self, urls: list[str]) -> list[Address]:
        if len(self._known) > MOST_SHARED:
            self._known = {}
        known, found = self._known, []
        for url in urls:
            if (address := known.get(url)) is None:
                address = canonical_address(url)
                if len(url) <= LONGEST_SHARED:
                    known[url] = address
            found.append(address)
        return found
