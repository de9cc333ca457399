"""Links as an HTML document writes them: with anchor text, relation and place.

The crawl only collects them, in a microsecond or two each; a background job reads them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import turbohtml

from crawling.web.addresses import MAX_URL_LENGTH
from crawling.web.documents.base import Document
from crawling.web.links import MOST_LINKS, Links

#: characters
MOST_ANCHOR = 200
MOST_TEXT = 2 * MOST_ANCHOR
MOST_REL = 100
MOST_FRAGMENT = 500
#: elements that say which part of a page a link is in
PLACES = ("nav", "header", "footer", "aside", "main", "article")
IN_PLACES = ",".join(PLACES)
#: elements whose text is in an attribute, for those who do not see them
WITH_ALT = frozenset({"img", "area", "input"})
#: what a redirect has its target in, in place of an attribute
LOCATION = "location"
#: Nearly all links of nearly all pages: those of these attributes, if no other element has one. A
#: tree finds elements by name a hundred times as fast as it finds links.
PLAIN = {"link": "href", "a": "href", "form": "action", "img": "src", "script": "src"}
#: further attributes with links, by element (HTML Standard, section 4); of `style` its text
FURTHER: dict[str, tuple[str | None, ...]] = {
    "link": ("imagesrcset",),
    "img": ("srcset", "longdesc"),
    "body": ("background",),
    "button": ("formaction",),
    "input": ("src", "formaction"),
    "style": (None,),
    "area": ("href",),
    "frame": ("src", "longdesc"),
    "iframe": ("src", "longdesc"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "image": ("href",),
    "use": ("href",),
    "blockquote": ("cite",),
    "q": ("cite",),
    "ins": ("cite",),
    "del": ("cite",),
}
ATTRIBUTES = {
    ("meta", "content"),
    *PLAIN.items(),
    *((name, attribute) for name, attributes in FURTHER.items() for attribute in attributes),
}
#: a style sheet without these has no link
IN_STYLES = ("url(", "@import")
#: Text and place of a link take half a microsecond. In a tree of elements that are nested a hundred
#: thousand times each takes milliseconds; the rest of such links are left out.
MOST_SECONDS = 0.02
LINK_SECONDS = 1e-5
LOOK_EVERY = 64
#: neither a parsed document nor a URL has one
MARK = "\0"
FIELDS = 6
#: an element, the attribute that has its link, and the link; of a style sheet no attribute
ElementLink = tuple[turbohtml.Element, str | None, str]


class WrittenLink(NamedTuple):
    """A link as a document writes it."""

    #: its address, canonical and without the fragment
    target: str
    fragment: str
    #: empty: the document is no HTML
    element: str
    attribute: str
    #: words in small letters
    rel: str
    #: its text, or the text in place of an image
    anchor: str
    #: the element of PLACES that it is in; empty: in none
    place: str


def has_plain_links(document: turbohtml.Document, *, has_refresh: bool) -> bool:
    """Whether `plain_links` finds all links of ATTRIBUTES.

    has_refresh: a `meta` element sends its reader elsewhere.
    """
    return not has_refresh and not any(
        _has_link(element, name)
        for tag, attributes in FURTHER.items()
        for element in document.find_all(tag)
        for name in attributes
    )


def _has_link(element: turbohtml.Element, attribute: str | None) -> bool:
    if attribute is None:
        sheet = element.text.lower()
        return any(mark in sheet for mark in IN_STYLES)
    return element.attr(attribute) is not None


def plain_links(document: turbohtml.Document) -> list[ElementLink]:
    """The links of one kind of element behind those of another, in half of the time of all."""
    return [
        (element, name, link)
        for tag, name in PLAIN.items()
        for element in document.find_all(tag)
        if (link := element.attr(name))
    ]


def collect(document: turbohtml.Document, links: Sequence[ElementLink]) -> bytes:
    """The links of ATTRIBUTES, for `links_in`: of those with the same element and address the first
    that has a text.
    """
    fields: list[str] = []
    #: where the text is of each address that an `a` has, and of other elements with an address
    anchors: dict[str, int] = {}
    others: set[tuple[str, str]] = set()
    budget = _Budget()
    has_places = any(map(document.find_all, PLACES))
    places = _anchors_in_places(document, budget) if has_places else {}
    for begin in range(0, min(len(links), MOST_LINKS), LOOK_EVERY):
        if begin and budget.is_spent(begin):
            break
        # one loop, since a call for each link would cost a tenth of it
        for element, attribute, url in links[begin : begin + LOOK_EVERY]:
            tag = element.tag
            if tag == "a" and attribute == "href":
                if (at := anchors.get(url)) is not None:
                    if not fields[at]:
                        fields[at] = element.text[:MOST_TEXT]
                    continue
                anchors[url] = len(fields) + 4
                text, place = element.text[:MOST_TEXT], places.get(element, "")
            elif (tag, url) in others or (tag, attribute) not in ATTRIBUTES:
                continue
            else:
                others.add((tag, url))
                text = (element.attr("alt") or "")[:MOST_TEXT] if tag in WITH_ALT else ""
                around = element.closest(IN_PLACES) if has_places else None
                place = around.tag if around else ""
            fields += (url, tag, attribute or "", element.attr("rel") or "", text, place)
    return MARK.join(fields).encode(errors="replace")


class _Budget:
    """Processor time for the links of a document; counted once as much has passed by the clock."""

    def __init__(self) -> None:
        self._began, self._used = time.monotonic(), 0.0

    def is_spent(self, links: int) -> bool:
        """Whether more is used than so many links may take, or twice that at the most."""
        most = MOST_SECONDS + links * LINK_SECONDS
        if time.monotonic() - self._began < most:
            return False
        self._used = self._used or time.thread_time()
        return time.thread_time() - self._used > most


def _anchors_in_places(
    document: turbohtml.Document, budget: _Budget
) -> dict[turbohtml.Element, str]:
    """The innermost of PLACES that each `a` is in."""
    found: dict[turbohtml.Element, str] = {}
    for name in PLACES:
        for place in document.find_all(name):
            if budget.is_spent(len(found)):
                return found
            for element in place.find_all("a"):
                around = element.closest(IN_PLACES) if element in found else None
                found[element] = around.tag if around else name
    return found


def collected(document: Document, redirect: str) -> bytes:
    """All that an answer leads to, for `links_in`; redirect: where it redirects, or empty."""
    written = document.written or _plain([link.url for link in document.links])
    if not redirect:
        return written
    last = MARK.join((redirect, "", LOCATION, "", "", "")).encode(errors="replace")
    return written + MARK.encode() + last if written else last


def _plain(urls: Sequence[str]) -> bytes:
    return MARK.join(url + MARK * (FIELDS - 1) for url in urls).encode(errors="replace")


def links_in(written: bytes, url: str, *, base: str, charset: str) -> Iterator[WrittenLink]:
    """What was collected, with addresses; what is no URL that can be crawled is passed over.

    base, charset: of the document, as it states them.
    """
    fields = written.decode().split(MARK) if written else []
    links, targets = Links(url, charset=charset, base=base), dict[str, str]()
    for at in range(0, len(fields) - FIELDS + 1, FIELDS):
        text, _, fragment = fields[at].partition("#")
        if (target := targets.get(text)) is None:
            is_short = len(text) <= MAX_URL_LENGTH
            target = targets[text] = links.target_of(text) if is_short else ""
        if target:
            tag, attribute, rel, anchor, place = fields[at + 1 : at + FIELDS]
            yield WrittenLink(
                target,
                fragment[:MOST_FRAGMENT],
                tag,
                attribute,
                " ".join(rel[:MOST_REL].lower().split()),
                " ".join(anchor.split())[:MOST_ANCHOR],
                place,
            )
