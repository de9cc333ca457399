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
PLACES = "nav,header,footer,aside,main,article"
#: elements whose text is in an attribute, for those who do not see them
WITH_ALT = frozenset({"img", "area", "input"})
#: what a redirect has its target in, in place of an attribute
LOCATION = "location"
#: Text and place of a link take half a microsecond. In a tree of elements that are nested a hundred
#: thousand times each takes milliseconds; the rest of such links are left out.
MOST_SECONDS = 0.02
LINK_SECONDS = 1e-5
LOOK_EVERY = 64
#: neither a parsed document nor a URL has one
MARK = "\0"
FIELDS = 6


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


def collect(document: turbohtml.Document, links: Sequence[turbohtml.Link]) -> bytes:
    """The links of a document, for `links_in`: of those with the same element and address the first
    that has a text.
    """
    fields: list[str] = []
    #: where the text is of each address that an `a` has, and of other elements with an address
    anchors: dict[str, int] = {}
    others: set[tuple[str, str]] = set()
    has_places = has_relations = document.select_one(f"{PLACES},a[rel]") is not None
    if has_places:
        has_places = document.select_one(PLACES) is not None
    until = time.thread_time() + MOST_SECONDS
    for begin in range(0, min(len(links), MOST_LINKS), LOOK_EVERY):
        if begin and time.thread_time() > until + begin * LINK_SECONDS:
            break
        # one loop, since a call for each link would cost a tenth of it
        for element, attribute, url in links[begin : begin + LOOK_EVERY]:
            tag = element.tag
            if tag == "a":
                if (at := anchors.get(url)) is not None:
                    if not fields[at]:
                        fields[at] = element.text[:MOST_TEXT]
                    continue
                anchors[url] = len(fields) + 4
                rel = element.attr("rel") if has_relations else None
                text = element.text[:MOST_TEXT]
            elif (tag, url) in others or tag == "base":
                continue
            else:
                others.add((tag, url))
                rel = element.attr("rel")
                text = (element.attr("alt") or "")[:MOST_TEXT] if tag in WITH_ALT else ""
            place = element.closest(PLACES) if has_places else None
            fields += (url, tag, attribute or "", rel or "", text, place.tag if place else "")
    return MARK.join(fields).encode(errors="replace")


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
