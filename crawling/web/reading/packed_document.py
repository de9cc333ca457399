"""A read HTML document as bytes, by which one process hands it to another.

The bytes come from a process that a hostile document may have taken over, so they are only text and
numbers, and their reader makes no other objects of them.
"""

from __future__ import annotations

from crawling.web.addresses import Address, canonical_address
from crawling.web.documents.base import Document, DocumentMetadata, TruncationReason

#: stands between the parts; neither an address nor a text of a document has one
MARK = "\0"
#: a script may write half of a character, which UTF-8 does not know
ERRORS = "surrogatepass"
#: the parts of a document that are neither links nor extracted values nor its text
WORDS = 9
#: the most addresses that an unpacker remembers, and the most characters of such an address
MOST_SHARED, LONGEST_SHARED = 16_384, 300


def pack(document: Document) -> bytes:
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
        "1" if document.needs_browser else "",
        document.unread or "",
        *(link.url for link in document.links),
        *(part for pair in document.extracted for part in pair),
        document.text,
    ]
    text = MARK.join(parts).encode(errors=ERRORS)
    return b"%d\n%b%b" % (len(text), text, document.written)


class Unpacker:
    """Unpacks documents, and remembers addresses: pages of a site share most of their links.
    Threads may share it.
    """

    def __init__(self) -> None:
        self._known: dict[str, Address] = {}

    def unpack(self, packed: bytes) -> Document:
        """Raises ValueError if `pack` cannot have made the bytes."""
        size, _, rest = packed.partition(b"\n")
        end = int(size)
        links, values, *parts = rest[:end].decode(errors=ERRORS).split(MARK)
        behind = WORDS + int(links)
        if len(parts) != behind + 2 * int(values) + 1:
            raise ValueError("the numbers of a packed document's parts are wrong")
        title, charset, base, author, description, language, canonical, scripted, unread = parts[
            :WORDS
        ]
        extracted = parts[behind:-1]
        return Document(
            title=title,
            charset=charset,
            links=self._addresses(parts[WORDS:behind]),
            text=parts[-1],
            metadata=DocumentMetadata(author, description, language, canonical),
            needs_browser=bool(scripted),
            extracted=list(zip(extracted[::2], extracted[1::2], strict=True)),
            unread=TruncationReason(unread) if unread else None,
            written=rest[end:],
            base=base,
        )

    def _addresses(self, urls: list[str]) -> list[Address]:
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
