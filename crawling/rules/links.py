"""What an HTML document says: its links in document order, its title, its character set (SEEDS B5, W9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import turbohtml

from crawling.rules.addresses import Address, BadUrl, read_address

#: elements whose attribute leads to a page or a part of one
LINKING = {("a", "href"), ("area", "href"), ("frame", "src"), ("iframe", "src"), ("link", "href")}
#: of `link` elements, those that name a document rather than a sheet, a font or an icon
PAGE_RELATIONS = {"alternate", "next", "prev", "canonical", "contents", "index", "start", "up", "search", "help"}
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
MAX_TITLE_LENGTH = 500
#: what a URL may have before and behind it (URL Standard, section 4.4); a no-break space belongs to it
BLANKS = "".join(map(chr, range(33)))
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


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
    charset = document.encoding or ""
    done = {""} if base == url else set()  # each distinct text is joined once: joining is what costs here
    found = {url}
    for link in document.links():
        if (link.element.tag, link.attribute) not in LINKING:
            continue
        text = link.url.partition("#")[0].strip(BLANKS)
        if text in done or (link.element.tag == "link" and not _names_a_page(link.element)):
            continue
        done.add(text)
        try:
            address = read_address(_encode_query(text, charset), base)
        except BadUrl:
            continue
        if address.url not in found:
            found.add(address.url)
            yield address


def _encode_query(text: str, charset: str) -> str:
    """Write a query as browsers send it: in the document's own character set (URL Standard, section 4.4, query state)."""
    path, mark, query = text.partition("?")
    if query.isascii() or charset.startswith("UTF-"):
        return text
    try:
        return path + mark + NOT_ASCII.sub(lambda run: quote(run[0].encode(charset, "xmlcharrefreplace"), safe=""), query)
    except LookupError:  # a character set of the web that Python has not
        return text


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
