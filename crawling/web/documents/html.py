"""HTML: links in document order, title, character set, what it says about itself, and whether
scripts make its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import turbohtml

from crawling.web.documents.base import (
    MOST_TEXT,
    Document,
    DocumentMetadata,
    DocumentSource,
    ReadingRules,
    one_line,
)
from crawling.web.documents.extraction import extract
from crawling.web.documents.markup import attribute
from crawling.web.documents.tree import parse_html
from crawling.web.documents.written_links import (
    ElementLinks,
    LinkPlacement,
    all_links,
    collect,
    has_plain_links,
    plain_links,
)
from crawling.web.links import Links

TYPES = ("text/html", "application/xhtml+xml")
#: what leads to a page or a part of one
LEADING = {
    ("a", "href"),
    ("area", "href"),
    ("frame", "src"),
    ("iframe", "src"),
    ("meta", "content"),
    ("link", "href"),
}
#: of `link` elements, those that name a document rather than a sheet, a font or an icon
PAGE_RELATIONS = frozenset(
    {"alternate", "next", "prev", "canonical", "contents", "index", "start", "up", "search", "help"}
)
#: of `link` elements, those that a page is shown with
SHOWN_RELATIONS = frozenset(
    {"stylesheet", "icon", "apple-touch-icon", "preload", "modulepreload", "manifest"}
)
#: what a page is shown with; in the attribute None stand sheets within the page
SHOWN = {
    *(
        (tag, "src")
        for tag in ("img", "source", "script", "video", "audio", "track", "embed", "input")
    ),
    ("img", "srcset"),
    ("source", "srcset"),
    ("video", "poster"),
    ("object", "data"),
    ("image", "href"),
    ("body", "background"),
    ("style", None),
}
#: an element, the attribute that has its link (of a style sheet none), and the link
ElementLink = tuple[turbohtml.Element, str | None, str]
#: elements whose text is not visible
UNSEEN = ("script", "style", "noscript", "template", "title")
#: a page with scripts, no link, and less text than this is made by its scripts
LEAST_TEXT = 100
#: types of `script` elements that hold data
DATA_SCRIPTS = ("json", "text/template", "text/x-template", "text/html")


def read(source: DocumentSource) -> Document:
    """Parse a document of any quality; broken markup never raises."""
    document, charset, unread = parse_html(source.body, source.charset)
    told = _meta_texts(document)
    base = (document.base_url() if document.find_all("base") else "") or ""
    judged, followed, written = _links(document, source.reading, told)
    links = Links(source.url, charset=charset, base=base)
    has_link = _take_links(judged, source, told.get("robots", ""), links) or bool(followed)
    for url in followed:
        links.add(url)
    title, canonical, root = document.find("title"), _canonical(document), document.find("html")
    rules = source.reading.extract
    extracted = extract(document, rules) if rules else []
    needs_scripts, places = not has_link and _has_scripts(document), LinkPlacement(document)
    # all are found before one goes: the tree finds elements by name until it changes
    for element in [found for name in UNSEEN for found in document.find_all(name)]:
        element.decompose()
    text = document.text[:MOST_TEXT].replace("\0", "")
    return Document(
        title=one_line(title.text) if title else "",
        charset=charset.lower(),
        links=links.found,
        written=collect(written, places),
        base=base,
        text=text,
        metadata=DocumentMetadata(
            one_line(told.get("author"), 200),
            one_line(told.get("description") or told.get("og:description")),
            one_line(attribute(root, "lang") or told.get("content-language"), 35) if root else "",
            links.join(canonical) if canonical else "",
        ),
        needs_browser=needs_scripts and len("".join(text[: 10 * LEAST_TEXT].split())) < LEAST_TEXT,
        extracted=extracted,
        unread=unread or links.unread,
    )


def _links(
    document: turbohtml.Document, reading: ReadingRules, told: Mapping[str, str]
) -> tuple[Iterable[ElementLink], Iterable[str], ElementLinks]:
    """Its links that are judged by their elements, then those that are followed whatever their
    elements say, each once, and all of them by attribute.
    """
    has_refresh = "refresh" in told
    if reading.requisites or not has_plain_links(document, has_refresh=has_refresh):
        links = list(document.links())
        return links, (), all_links(links)
    plain = plain_links(document)
    names = ("link", "a") if reading.obey_nofollow else ("link",)
    judged = (
        (element, "href", url)
        for name in names
        for url, element in zip(*plain[name, "href"][:2], strict=True)
    )
    return judged, () if reading.obey_nofollow else plain["a", "href"].first, plain


def _take_links(
    written: Iterable[ElementLink], source: DocumentSource, robots: str, links: Links
) -> bool:
    """Take up the links to be followed, and say whether any leads to a page by itself.

    Most links of most pages are to places in pages that were linked before: what `links` has needs
    no second look.
    """
    reading, has_link = source.reading, False
    silent = reading.obey_nofollow and bool(
        {"nofollow", "none"} & set(robots.lower().replace(",", " ").split())
    )
    for element, name, url in written:
        if has_link and url.partition("#")[0] in links.taken:
            continue
        tag, is_shown = element.tag, False
        if tag == "link":
            relations = set(_relations(element))
            is_page, is_shown = bool(relations & PAGE_RELATIONS), bool(relations & SHOWN_RELATIONS)
        elif not (is_page := (tag, name) in LEADING):
            is_shown = (tag, name) in SHOWN or name == "style"
        if (
            is_page
            and not silent
            and not (
                reading.obey_nofollow and tag in ("a", "area") and "nofollow" in _relations(element)
            )
        ):
            links.add(url)
            has_link = has_link or tag != "link"
        elif is_shown and reading.requisites:
            links.add(url)
    return has_link


def _meta_texts(document: turbohtml.Document) -> dict[str, str]:
    """What `meta` elements say, by name; the first word counts."""
    told: dict[str, str] = {}
    for meta in document.find_all("meta"):
        name = meta.attr("name") or meta.attr("property") or meta.attr("http-equiv")
        if name:
            told.setdefault(name.lower(), meta.attr("content") or "")
    return told


def _canonical(document: turbohtml.Document) -> str:
    link = next(
        (link for link in document.find_all("link") if "canonical" in _relations(link)), None
    )
    return attribute(link, "href") if link else ""


def _has_scripts(document: turbohtml.Document) -> bool:
    kinds = (attribute(script, "type").lower() for script in document.find_all("script"))
    return any(not any(data in kind for data in DATA_SCRIPTS) for kind in kinds)


def _relations(element: turbohtml.Element) -> list[str]:
    return (element.attr("rel") or "").lower().split()
