"""Entries of feeds as data: the fields of RSS, RDF, Atom and JSON Feeds in one form, and the links
in the HTML of entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

import turbohtml
from turbohtml import TokenType

from crawling.web.documents.base import ReadingRules, one_line
from crawling.web.documents.html import NOT_VOUCHED
from crawling.web.documents.markup import (
    XmlBases,
    all_elements,
    attribute_text,
    leaf_text,
    name_of,
    text_of,
)
from crawling.web.documents.sitemap import read_moment
from crawling.web.http_caching import read_date
from crawling.web.links import Links

#: the most entries of a feed; further ones are left out
MOST_ENTRIES = 5_000
#: the most characters of a summary, and of the markup from which it is taken
MOST_SUMMARY, MOST_MARKUP = 1_000, 8_000
MOST_NAME, MOST_DATE = 200, 60
#: HTML elements that are separated by a blank
BLOCKS = frozenset(
    {
        *("address", "article", "blockquote", "br", "dd", "div", "dt", "figure", "h1", "h2", "h3"),
        *("h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "section", "table", "td", "th", "tr"),
        "ul",
    }
)
UNSEEN = frozenset({"script", "style"})
ENTRIES = frozenset({"item", "entry"})
#: elements in which a link does not belong to the entry: its source feed, an image
ASIDE = frozenset({"source", "image", "textinput", "channel"})
#: the relations of links that lead to the page of their entry
PAGE_RELATIONS = frozenset({"", "alternate"})
#: for each field, the elements of an entry, with the prefixes that their vocabularies usually have
FIELDS = {
    **dict.fromkeys(("title", "dc:title"), "title"),
    **dict.fromkeys(("published", "pubdate", "dc:date", "issued"), "published"),
    **dict.fromkeys(("updated", "modified", "dcterms:modified", "atom:updated"), "updated"),
    **dict.fromkeys(("author", "dc:creator"), "author"),
    **dict.fromkeys(("summary", "description", "dc:description"), "summary"),
    **dict.fromkeys(("content", "content:encoded"), "content"),
}
ANCHORS = frozenset({"a", "area"})
#: the texts of RSS without an attribute for their type; they are HTML, as all readers assume
RSS_TEXTS = frozenset({"description", "encoded"})
#: the texts that state their type (RFC 4287, sections 3.1 and 4.1.3); texts of Atom without a type
#: are plain
TYPED_TEXTS = RSS_TEXTS | {"content", "summary", "title", "subtitle", "tagline", "rights"}
HTML_TYPES = frozenset({"html", "text/html"})


class FeedEntry(NamedTuple):
    """One entry. Fields that the feed does not give are empty."""

    title: str = ""
    #: the URL of the entry's page
    url: str = ""
    #: dates in ISO 8601, or as written if their form is unknown
    published: str = ""
    updated: str = ""
    author: str = ""
    #: without markup
    summary: str = ""


def xml_entries(document: turbohtml.Document, bases: XmlBases, links: Links) -> Iterator[FeedEntry]:
    """The entries of RSS, RDF and Atom, in the order of the document."""
    for said in islice(entry_texts(document, bases), MOST_ENTRIES):
        address = page_url_of(said)
        yield FeedEntry(
            one_line(said.get("title")),
            links.target_of(address) if address else "",
            _date_text(said.get("published")),
            _date_text(said.get("updated")),
            one_line(said.get("author"), MOST_NAME),
            text_of_markup(said.get("summary") or said.get("content", "")),
        )


def stated_changes(
    document: turbohtml.Document, bases: XmlBases, links: Links, *, site: str
) -> dict[str, datetime]:
    """The times at which pages of a site last changed, or were published, by the entries of its
    feed. site: the prefix of the site's addresses.
    """
    stated = {}
    for said in islice(entry_texts(document, bases), MOST_ENTRIES):
        moment = moment_of(said.get("updated") or said.get("published", ""))
        address = links.target_of(page_url_of(said)) if moment and page_url_of(said) else ""
        if moment and address.startswith(site):
            stated[address.partition("#")[0]] = moment
    return stated


def page_url_of(said: Mapping[str, str]) -> str:
    """The page of an entry: its first link to a page, or else its permanent address; "" if it names
    none.
    """
    return said.get("page") or said.get("permanent", "")


def entry_texts(document: turbohtml.Document, bases: XmlBases) -> Iterator[dict[str, str]]:
    """The fields of each entry as written. Of several fields with one name the first counts. Links
    are relative to the document's base.
    """
    said: dict[str, str] | None = None
    for element in all_elements(document):
        name = name_of(element)
        if name in ENTRIES:
            if said is not None:
                yield said
            said = {}
        elif said is not None:
            _read_field(said, name, element, bases)
    if said is not None:
        yield said


def _read_field(
    said: dict[str, str], name: str, element: turbohtml.Element, bases: XmlBases
) -> None:
    if name == "link":
        page = "" if said.get("page") else _linked_page(element)
        field, text = "page", bases.whole(element, page)
    elif name == "guid":
        field, text = "permanent", permanent_link(element)
    elif field := FIELDS.get(element.tag.lower(), ""):
        parent = element.parent
        if field in said or not isinstance(parent, turbohtml.Element):
            return
        # the names of an entry's source feed, or of its image, are not names of the entry
        is_own = name_of(parent) in ENTRIES
        text = (plain_text if field == "title" else _text_in)(element) if is_own else ""
    else:
        return
    if text:
        said.setdefault(field, text)


def permanent_link(guid: turbohtml.Element) -> str:
    """The address in an identifier; "" if it has none."""
    text = "" if attribute_text(guid, "isPermaLink") == "false" else leaf_text(guid).strip()
    return text if text.startswith("http") else ""


def plain_text(element: turbohtml.Element) -> str:
    """The text of a title. Atom states whether it is markup (RFC 4287, section 3.1). In RSS it is
    text with references that are escaped twice.
    """
    written = text_of(element)[:MOST_MARKUP]
    if "&" not in written and "<" not in written:
        return written
    kind = attribute_text(element, "type").lower()
    if kind in ("html", "text/html"):
        return text_of_markup(written)
    return written if kind else turbohtml.unescape(written)


def _text_in(element: turbohtml.Element) -> str:
    """The text of the element as written. For a person, the name."""
    children = (child for child in element.children if isinstance(child, turbohtml.Element))
    names = (child for child in children if name_of(child) == "name")
    return text_of(next(names, element))[:MOST_MARKUP]


def _linked_page(link: turbohtml.Element) -> str:
    parent = link.parent
    if isinstance(parent, turbohtml.Element) and name_of(parent) in ASIDE:
        return ""
    href = attribute_text(link, "href")
    if href:
        return href if attribute_text(link, "rel").lower() in PAGE_RELATIONS else ""
    return leaf_text(link).strip()


def json_entries(items: Iterable[Mapping[str, Any]], links: Links) -> Iterator[FeedEntry]:
    """The entries of a JSON Feed (https://www.jsonfeed.org/version/1.1/, "Items")."""
    for item in islice(items, MOST_ENTRIES):
        address = _member_text(item, "url") or _member_text(item, "external_url")
        summary = _member_text(item, "summary") or _member_text(item, "content_text")
        authors = item.get("authors")
        named = authors[0] if isinstance(authors, list) and authors else item.get("author")
        yield FeedEntry(
            one_line(_member_text(item, "title")),
            links.target_of(address) if address else "",
            _date_text(_member_text(item, "date_published")),
            _date_text(_member_text(item, "date_modified")),
            one_line(_member_text(named, "name") if isinstance(named, dict) else "", MOST_NAME),
            one_line(summary, MOST_SUMMARY) or text_of_markup(_member_text(item, "content_html")),
        )


def _member_text(holder: Mapping[str, Any], name: str) -> str:
    found = holder.get(name)
    return found if isinstance(found, str) else ""


def moment_of(text: str) -> datetime | None:
    """A date of a feed, by RFC 3339 or RFC 822; None for any other text."""
    return read_moment(text) or read_date(text.strip())


def _date_text(text: str | None) -> str:
    written = one_line(text, MOST_DATE)
    moment = moment_of(written)
    return moment.isoformat() if moment else written


def text_of_markup(markup: str) -> str:
    """The text of some HTML. No tree is built, since it could be large."""
    parts: list[str] = []
    is_seen = True
    for token in turbohtml.tokenize(markup[:MOST_MARKUP]):
        if token.type == TokenType.TEXT and is_seen:
            parts.append(token.data or "")
        elif token.tag in BLOCKS:
            parts.append(" ")
        elif token.tag in UNSEEN:
            is_seen = token.type == TokenType.END_TAG
    return one_line("".join(parts), MOST_SUMMARY)


def links_of_element(element: turbohtml.Element, name: str, reading: ReadingRules) -> Iterator[str]:
    """The links of an element's markup in a feed: of an XHTML anchor in the feed itself, or of HTML
    that the feed contains as text.
    """
    if name in ANCHORS:
        yield from _href_to_follow(
            attribute_text(element, "href"), attribute_text(element, "rel"), reading
        )
    elif name in TYPED_TEXTS and _is_html(element, name):
        # all its markup is escaped; a text with elements in it is XHTML
        yield from links_in_markup(leaf_text(element), reading)


def links_in_markup(markup: str, reading: ReadingRules) -> Iterator[str]:
    """The links of some HTML. No tree is built, since it could be large."""
    if "<" not in markup:
        return
    for token in turbohtml.tokenize(markup):
        if token.type == TokenType.START_TAG and token.tag in ANCHORS:
            attributes = dict(token.attrs or ())
            yield from _href_to_follow(attributes.get("href"), attributes.get("rel"), reading)


def _href_to_follow(
    href: str | None, relations: str | None, reading: ReadingRules
) -> Iterator[str]:
    if href and not (
        reading.obey_nofollow and not NOT_VOUCHED.isdisjoint((relations or "").lower().split())
    ):
        yield href


def _is_html(element: turbohtml.Element, name: str) -> bool:
    kind = attribute_text(element, "type").partition(";")[0].strip().lower()
    if kind:
        return kind in HTML_TYPES
    parent = element.parent
    return (
        name in RSS_TEXTS and isinstance(parent, turbohtml.Element) and name_of(parent) in ENTRIES
    )
