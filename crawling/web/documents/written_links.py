"""Links as written in an HTML document: with anchor text, relation and place.

The crawl only collects the links, in a microsecond or two each; a background job reads them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import turbohtml

from crawling.web.addresses import MAX_URL_LENGTH
from crawling.web.documents.base import Document
from crawling.web.links import BLANKS, MOST_LINKS, Links, split_fragment

#: characters
MOST_ANCHOR = 200
MOST_TEXT = 2 * MOST_ANCHOR
MOST_REL = 200
MOST_FRAGMENT = 500
#: every page has this place
TOP = "top"
#: elements that tell in which part of a page a link is
PLACES = ("nav", "header", "footer", "aside", "main", "article")
IN_PLACES = ",".join(PLACES)
#: elements with their text in an attribute, for users who do not see the element
WITH_ALT = frozenset({"img", "area", "input"})
#: elements that show content from elsewhere
SHOWING = frozenset({"img", "image", "source", "video", "audio", "embed", "object"})
#: the name for a redirect's target, in place of an attribute
LOCATION = "location"
#: the attributes with nearly all links of nearly all pages: these are all links if no other element
#: has one. A tree finds elements by name a hundred times as fast as it finds links
PLAIN = {"link": "href", "a": "href", "form": "action", "img": "src", "script": "src"}
#: further attributes with links, by element (HTML Standard, section 4); for `style`, its text. A
#: name that HTML does not have would require a search through all elements
FURTHER: dict[str, tuple[str | None, ...]] = {
    "link": ("imagesrcset",),
    "img": ("srcset", "longdesc"),
    "body": ("background",),
    "button": ("formaction",),
    "input": ("src", "formaction"),
    "style": (None,),
    "area": ("href",),
    "frame": ("src", "longdesc"),
    "iframe": ("src", "longdesc", "srcdoc"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "image": ("href",),
    "blockquote": ("cite",),
    "q": ("cite",),
    "ins": ("cite",),
    "del": ("cite",),
}
#: the older name, in SVG, of the attribute with a link's address
IN_DRAWINGS = "xlink:href"
ATTRIBUTES = {
    ("meta", "content"),
    ("a", IN_DRAWINGS),
    *PLAIN.items(),
    *((name, attribute) for name, attributes in FURTHER.items() for attribute in attributes),
}
#: a style sheet without any of these has no link
IN_STYLES = ("url(", "@import")
#: Text and place of a link take half a microsecond, or milliseconds under a hundred thousand nested
#: elements. After this time the texts and places of the remaining links are left out.
MOST_SECONDS = 0.02
LINK_SECONDS = 1e-5
LOOK_EVERY = 64
#: a character that is in no parsed document and no URL
MARK = "\0"
#: the number of fields at the beginning of a block of links
HEAD_FIELDS = 7


class LinkColumns(NamedTuple):
    """The links of one attribute, for all elements of one name, in the order of the document."""

    urls: list[str]
    #: the element of each link
    elements: list[turbohtml.Element]
    #: the first element of each address
    first: dict[str, turbohtml.Element]


#: by element and attribute (None for a style sheet)
ElementLinks = dict[tuple[str, str | None], LinkColumns]


class WrittenLink(NamedTuple):
    #: the address to which the link leads, canonical and without its fragment
    target: str
    fragment: str
    #: empty if the document is not HTML
    element: str
    attribute: str
    #: words in lower case; for a `link` with a language also `hreflang=` and its code
    rel: str
    #: the text of the link, or the alternative text of its image
    anchor: str
    #: the element of PLACES that contains the link; empty if there is none
    place: str


def has_plain_links(document: turbohtml.Document) -> bool:
    """Whether `plain_links` finds all links of ATTRIBUTES, except those of `meta` elements."""
    return not any(
        _has_link(element, name)
        for tag, attributes in FURTHER.items()
        for element in document.find_all(tag)
        for name in attributes
    ) and not any(
        link.attr(IN_DRAWINGS) is not None
        for drawing in document.find_all("svg")
        for link in drawing.find_all("a")
    )


def _has_link(element: turbohtml.Element, attribute: str | None) -> bool:
    if attribute is None:
        sheet = element.text.lower()
        return any(mark in sheet for mark in IN_STYLES)
    return element.attr(attribute) is not None


def plain_links(document: turbohtml.Document) -> ElementLinks:
    """The links of most pages, in a third of the time of `all_links`."""
    return {(tag, name): _link_columns(name, document.find_all(tag)) for tag, name in PLAIN.items()}


def _link_columns(name: str, elements: list[turbohtml.Element]) -> LinkColumns:
    links = [(element.attr(name) or "").strip(BLANKS) for element in elements]
    if "" in links:
        elements = [element for element, link in zip(elements, links, strict=True) if link]
        links = list(filter(None, links))
    return LinkColumns(links, elements, _first_elements(links, elements))


def all_links(
    links: Iterable[tuple[turbohtml.Element, str | None, str]],
) -> ElementLinks:
    """Any document's links, by element and attribute."""
    found: dict[tuple[str, str | None], tuple[list[str], list[turbohtml.Element]]] = {}
    for element, name, link in links:
        urls, elements = found.setdefault((element.tag, name), ([], []))
        urls.append(link)
        elements.append(element)
    return {
        key: LinkColumns(urls, elements, _first_elements(urls, elements))
        for key, (urls, elements) in found.items()
    }


def written_urls(document: turbohtml.Document) -> Iterator[str]:
    """The links of ATTRIBUTES as written, except those of `meta` elements."""
    for element, name, link in document.links():
        if element.tag != "meta" and (element.tag, name) in ATTRIBUTES and link.strip(BLANKS):
            yield link


def pack_links(links: ElementLinks, places: LinkPlacement) -> bytes:
    """The links of ATTRIBUTES in the format of `resolved_links`. Of several links with the same
    attribute and address the first counts, with the text of the first that has one.

    The format has columns, since rows would take twice the time.
    """
    blocks: list[list[str]] = []
    count = 0
    for (tag, name), (urls, elements, first) in links.items():
        if not urls or (tag, name) not in ATTRIBUTES:
            continue
        kept = list(first.values())[: MOST_LINKS - count]
        texts = _anchor_texts(tag, kept, places.budget)
        if tag == "a" and "" in texts and len(first) < len(urls):
            _fill_texts(texts, list(first), urls, elements, places.budget)
        kept = kept[: len(texts)]
        count += len(kept)
        relations = _head_relations(urls, elements) if tag == "link" else []
        relations = relations[: len(kept)] or places.relations(tag, kept)
        columns = list(first)[: len(kept)], relations, texts, places.places_of(tag, kept)
        blocks += _block_of_links(tag, name or "", columns)
    return _pack_blocks(blocks)


def _first_elements(
    urls: list[str], elements: list[turbohtml.Element]
) -> dict[str, turbohtml.Element]:
    if not urls:
        return {}
    first = dict.fromkeys(urls, elements[0])  # in the order of the links
    first.update(zip(reversed(urls), reversed(elements), strict=True))
    return first


def _head_relations(urls: list[str], elements: list[turbohtml.Element]) -> list[str]:
    """The relations of each address from all its `link` elements, since a page may be its own
    canonical page and an alternate in several languages, which are stated as `hreflang=de`.
    """
    relations: dict[str, str] = {}
    for url, element in zip(urls, elements, strict=True):
        relation = element.attr("rel") or ""
        if language := element.attr("hreflang"):
            relation += " hreflang=" + language.strip().replace(" ", "_")
        relations[url] = f"{relations[url]} {relation}" if url in relations else relation
    return list(relations.values())


def _block_of_links(tag: str, name: str, columns: Sequence[list[str]]) -> Iterator[list[str]]:
    """The links of one attribute: its name, their number, and the columns that are not empty."""
    shown = ["1" if any(column) else "" for column in columns]
    yield [tag, name, str(len(columns[0])), *shown]
    yield from (column for column, is_shown in zip(columns, shown, strict=True) if is_shown)


def _pack_blocks(blocks: Iterable[list[str]]) -> bytes:
    return MARK.join([MARK.join(block) for block in blocks]).encode(errors="replace")


def _anchor_texts(tag: str, elements: list[turbohtml.Element], budget: _Budget) -> list[str]:
    """The texts of these elements' links; only of the first elements if it takes too long."""
    if tag != "a":
        if tag not in WITH_ALT:
            return [""] * len(elements)
        return [(element.attr("alt") or "")[:MOST_TEXT] for element in elements]
    texts: list[str] = []
    for begin in range(0, len(elements), LOOK_EVERY):
        if begin and budget.is_spent(begin):
            break
        texts += [element.text[:MOST_TEXT] for element in elements[begin : begin + LOOK_EVERY]]
    return texts


def _fill_texts(
    texts: list[str],
    first: list[str],
    urls: list[str],
    elements: list[turbohtml.Element],
    budget: _Budget,
) -> None:
    """Use the text of a later element if the first element with the same address has no text."""
    places = {url: at for at, (url, text) in enumerate(zip(first, texts, strict=False)) if not text}
    for number, (url, element) in enumerate(zip(urls, elements, strict=True)):
        if url in places:
            texts[places[url]] = texts[places[url]] or element.text[:MOST_TEXT]
            if budget.is_spent(number):
                break


class _Budget:
    """The processor time for a document's links, read only after as much time has passed."""

    def __init__(self) -> None:
        self._began, self._used = time.monotonic(), 0.0

    def is_spent(self, links: int) -> bool:
        """Whether this number of links has taken more than its time, or at most twice as much."""
        most = MOST_SECONDS + links * LINK_SECONDS
        if time.monotonic() - self._began < most:
            return False
        self._used = self._used or time.thread_time()
        return time.thread_time() - self._used > most


class LinkPlacement:
    """Finds the relations of links, and the elements of PLACES around them. Create it before the
    document changes, since the document then loses its lists of elements by name.
    """

    def __init__(self, document: turbohtml.Document) -> None:
        self.budget = _Budget()
        self._is_any = any(map(document.find_all, PLACES))
        #: the `a` elements, which are most elements with a link
        self._anchors = self._anchors_in_places(document) if self._is_any else {}
        self._relations = {
            element: element.attr("rel") or "" for element in document.select("a[rel]")
        }

    def relations(self, tag: str, elements: list[turbohtml.Element]) -> list[str]:
        """The relations of the links of these elements to their page."""
        if tag != "a":
            return [element.attr("rel") or "" for element in elements]
        known = self._relations
        return [known.get(element, "") for element in elements] if known else []

    def places_of(self, tag: str, elements: list[turbohtml.Element]) -> list[str]:
        """The place of each element, or empty. An empty list if no element has a place."""
        if not self._is_any:
            return []
        if tag == "a":
            return [self._anchors.get(element, "") for element in elements]
        around = [element.closest(IN_PLACES) for element in elements]
        return [place.tag if place else "" for place in around]

    def _anchors_in_places(self, document: turbohtml.Document) -> dict[turbohtml.Element, str]:
        """The place of each `a` element, such as `nav`. The links of a place are adjacent: finding
        the first of them, and the first link after the place, takes a fifth of a walk's time.
        """
        anchors, spans = document.find_all("a"), list[tuple[int, int, int, str]]()
        for name in PLACES:
            for place in document.find_all(name):
                if self.budget.is_spent(len(spans)):
                    break
                if first := place.find("a"):
                    behind = _anchor_behind(place)
                    end = anchors.index(behind) if behind else len(anchors)
                    depth = sum(1 for _ in place.ancestors)
                    spans.append((anchors.index(first), -end, depth, name))
        found: dict[turbohtml.Element, str] = {}
        for begin, end, _, name in sorted(spans):  # a place within another is the later one
            if self.budget.is_spent(len(found)):
                break
            found.update(dict.fromkeys(anchors[begin:-end], name))
        return found


def _anchor_behind(place: turbohtml.Element) -> turbohtml.Element | None:
    """The first link in the document after an element."""
    node: turbohtml.Node | None = place
    while node:
        for after in node.next_siblings:
            if isinstance(after, turbohtml.Element) and (
                anchor := after if after.tag == "a" else after.find("a")
            ):
                return anchor
        node = node.parent
    return None


def with_fragment(target: str, location: str) -> str:
    """A redirect's target, for `links_of_answer`, with the fragment of its Location, which replaces
    a link's own (RFC 9110, section 10.2.2). An empty fragment names the top of the page (HTML
    Standard, section 7.4.6.4).
    """
    _, mark, fragment = location.strip(BLANKS).replace(MARK, "").partition("#")
    return f"{target}#{fragment[:MOST_FRAGMENT] or TOP}" if mark else target


def links_of_answer(document: Document, redirect: str) -> bytes:
    """All links of an answer, in the format of `resolved_links`; redirect: its target, or empty."""
    written = document.written
    if not written and document.links:
        written = _pack_blocks(
            _block_of_links("", "", ([link.url for link in document.links], [], [], []))
        )
    if not redirect:
        return written
    last = _pack_blocks(_block_of_links("", LOCATION, ([redirect], [], [], [])))
    return written + MARK.encode() + last if written else last


def _unpack_blocks(written: bytes) -> Iterator[tuple[str, str, list[list[str]]]]:
    """Each block's tag, attribute, and columns of links, relations, texts and places."""
    fields, at = written.decode().split(MARK) if written else [], 0
    while at < len(fields):
        tag, name, number, *shown = fields[at : at + HEAD_FIELDS]
        at, count = at + HEAD_FIELDS, int(number)
        columns = []
        for is_shown in shown:
            columns.append(fields[at : at + count] if is_shown else [""] * count)
            at += count if is_shown else 0
        yield tag, name, columns


def shown_urls(written: bytes) -> set[str]:
    """The images, sounds and films among the collected links, without their queries, which a server
    may use to count requests.
    """
    found = (links for tag, _, (links, *_) in _unpack_blocks(written) if tag in SHOWING)
    shown = {link.partition("?")[0] for links in found for link in links}
    return {link for link in shown if link and not link.lower().startswith("data:")}


def resolved_links(written: bytes, url: str, *, base: str, charset: str) -> Iterator[WrittenLink]:
    """The collected links, with addresses. Links that are no URLs that can be crawled are left out.

    base, charset: as the document states them.
    """
    links, targets = Links(url, charset=charset, base=base), dict[str, str]()
    for tag, attribute, columns in _unpack_blocks(written):
        for link, rel, anchor, place in zip(*columns, strict=True):
            text, fragment = split_fragment(link)
            if (target := targets.get(text)) is None:
                is_short = len(text) <= MAX_URL_LENGTH
                target = targets[text] = links.target_of(text) if is_short else ""
            if target:
                yield WrittenLink(
                    target,
                    fragment[:MOST_FRAGMENT],
                    tag,
                    attribute,
                    " ".join(rel[:MOST_REL].lower().split()),
                    " ".join(anchor.split())[:MOST_ANCHOR],
                    place,
                )
