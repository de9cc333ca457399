"""What an HTML document says: its links in document order, its title, its character set (SEEDS B5, W9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import turbohtml

from crawling.rules.addresses import Address, BadUrl, read_address

#: elements whose attribute leads to a page or a part of one
LINKING = {("a", "href"), ("area", "href"), ("frame", "src"), ("iframe", "src"), ("link", "href")}
#: of `link` elements, those that name a document rather than a sheet, a font or an icon
PAGE_RELATIONS = {"alternate", "next", "prev", "canonical", "contents", "index", "start", "up", "search", "help"}
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
MAX_TITLE_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Document:
    """links: addresses in document order, each once, without the document's own."""

    title: str
    charset: str
    links: list[Address]


def read_document(body: bytes, *, url: str, charset: str | None) -> Document:
    """Parse a document of any quality; `charset` is the one the server named. Broken markup never raises."""
    document = _parse(body, charset)
    title = document.find("title")
    return Document(
        title=" ".join(title.text.split())[:MAX_TITLE_LENGTH].replace("\0", "") if title else "",
        charset=(document.encoding or "").lower(),
        links=list(_addresses(document, url)),
    )


def _parse(body: bytes, charset: str | None) -> turbohtml.Document:
    try:
        return turbohtml.parse(body, encoding=charset, positions=False, detect_encoding=True)
    except LookupError:  # the server named a character set that does not exist
        return turbohtml.parse(body, positions=False, detect_encoding=True)


def _addresses(document: turbohtml.Document, url: str) -> Iterator[Address]:
    base = _base(document, url)
    done = {""}  # each distinct text is joined once: joining is what costs here
    found = {url}
    for link in document.links():
        if (link.element.tag, link.attribute) not in LINKING:
            continue
        text = link.url.partition("#")[0].strip()
        if text in done or (link.element.tag == "link" and not _names_a_page(link.element)):
            continue
        done.add(text)
        try:
            address = read_address(text, base)
        except BadUrl:
            continue
        if address.url not in found:
            found.add(address.url)
            yield address


def _base(document: turbohtml.Document, url: str) -> str:
    stated = document.base_url()
    if not stated:
        return url
    try:
        return read_address(stated, url).url
    except BadUrl:
        return url


def _names_a_page(element: turbohtml.Element) -> bool:
    relations = element.attrs.get("rel") or ""
    words = relations.split() if isinstance(relations, str) else relations
    return any(word.lower() in PAGE_RELATIONS for word in words)
