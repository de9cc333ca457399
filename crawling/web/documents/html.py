"""HTML: links in document order, title, character set, the page's statements about itself, and
whether scripts make its content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import turbohtml

from crawling.web.content.script_signs import MOST_LOOKS, ScriptSign, find_script_sign
from crawling.web.documents.base import (
    MOST_TEXT,
    Document,
    DocumentMetadata,
    DocumentSource,
    ReadingRules,
    one_line,
)
from crawling.web.documents.css import css_links
from crawling.web.documents.extraction import extract
from crawling.web.documents.markup import attribute_text
from crawling.web.documents.tree import charset_by_type, parse_html
from crawling.web.documents.written_links import (
    ElementLinks,
    LinkPlacement,
    all_links,
    has_plain_links,
    pack_links,
    plain_links,
)
from crawling.web.links import Links

TYPES = ("text/html", "application/xhtml+xml")
#: the attributes that lead to a page or a part of one
LEADING = {
    ("a", "href"),
    ("a", "xlink:href"),
    ("area", "href"),
    ("frame", "src"),
    ("iframe", "src"),
    ("meta", "content"),
    ("link", "href"),
}
#: the relations of `link` elements and `Link` fields that name a document rather than a style
#: sheet, a font or an icon: hyperlinks of the HTML Standard (section 4.6.7), relations of HTML 4.01
#: (section 6.12), and other parts of a series in IANA's register (RFC 8288, section 4.2)
PAGE_RELATIONS = frozenset(
    {
        *("alternate", "author", "canonical", "help", "license", "next", "prev", "search"),
        *("privacy-policy", "terms-of-service"),
        *("appendix", "chapter", "contents", "copyright", "glossary", "index", "section", "start"),
        *("subsection", "collection", "current", "first", "item", "last", "previous", "up"),
        *("next-archive", "prev-archive"),
    }
)
#: the relations of `link` elements that lead to parts of the page
SHOWN_RELATIONS = frozenset(
    {"stylesheet", "icon", "apple-touch-icon", "preload", "modulepreload", "manifest"}
)
#: attributes of SVG elements with links
SVG_LINKS = ("href", "xlink:href")
#: the attributes with the parts of a page; None for style sheets within the page
SHOWN = {
    *(
        (tag, "src")
        for tag in (
            *("img", "source", "script", "video", "audio", "track", "embed", "input"),
            "bgsound",
        )
    ),
    *((tag, name) for tag in ("image", "use", "feImage", "script") for name in SVG_LINKS),
    *((tag, "background") for tag in ("body", "table", "thead", "tbody", "tfoot", "tr")),
    *((tag, "background") for tag in ("td", "th")),
    ("img", "srcset"),
    ("source", "srcset"),
    ("video", "poster"),
    ("object", "data"),
    ("style", None),
}
#: the beginning of a refresh before its address (HTML Standard, section 4.2.5.3): a time and a
#: separator
REFRESH_TIME = re.compile(
    r"[\t\n\f\r ]*+(?:[0-9]++[0-9.]*+|\.[0-9.]*+)(?:[\t\n\f\r ]*+[;,]|[\t\n\f\r ])"
)
REFRESH_URL = re.compile(r"url[\t\n\f\r ]*+=[\t\n\f\r ]*+", re.IGNORECASE)
#: values of `rel` by which a page does not vouch for a link
NOT_VOUCHED = frozenset({"nofollow", "ugc", "sponsored"})
SILENCING = frozenset({"nofollow", "none"})
#: an element, the attribute with its link (None for a style sheet), and the link
ElementLink = tuple[turbohtml.Element, str | None, str]
#: elements whose text is not visible
UNSEEN = ("script", "style", "noscript", "template", "title")
#: below this number of links, the general way is faster than checking whether all links are plain
FEW_LINKS = 4
#: the number of pieces of a text that are joined at once, since the end of a long text is not
#: needed
PIECES = 1000
#: types of `script` elements that hold data
DATA_SCRIPTS = ("json", "text/template", "text/x-template", "text/html")


def read(source: DocumentSource) -> Document:
    """Parse a document, whether valid or not. Broken markup never raises an error."""
    stated = charset_by_type(source.body, source.content_type, source.charset)
    document, charset, unread = parse_html(source.body, stated)
    metas = document.find_all("meta")
    told = _meta_texts(metas)
    base = base_of(document)
    judged, followed, written = _document_links(document, source.reading, metas)
    links = Links(source.url, charset=charset, base=base)
    is_silent = source.reading.obey_nofollow and _is_silent(metas, source.reading.robots_token)
    has_link = _take_links(judged, source, links, is_silent=is_silent) or bool(followed)
    links.add_all(followed)
    title, canonical, root = title_of(document), _canonical_link(document), document.find("html")
    rules = source.reading.extract
    extracted = extract(document, rules, links.whole) if rules else []
    has_scripts, places = _has_scripts(document), LinkPlacement(document)
    # all are found before one is removed, since the tree finds elements by name only until it
    # changes
    unseen = {name: document.find_all(name) for name in UNSEEN}
    for element in chain.from_iterable(unseen.values()):
        element.decompose()
    text, sign = _text_of(document), ScriptSign.NONE
    if has_scripts:
        noscripts = [element.text for element in unseen["noscript"][:MOST_LOOKS]]
        sign = find_script_sign(document, text, noscripts, has_link=has_link)
    return Document(
        title=one_line(title),
        charset=charset.lower(),
        links=links.found,
        written=pack_links(written, places),
        base=base,
        text=text,
        metadata=DocumentMetadata(
            one_line(told.get("author"), 200),
            one_line(told.get("description") or told.get("og:description")),
            one_line(attribute_text(root, "lang") or told.get("content-language"), 35)
            if root
            else "",
            links.join(canonical) if canonical else "",
        ),
        extracted=extracted,
        unread=unread or links.left_out,
        script_sign=sign,
    )


def base_of(document: turbohtml.Document) -> str:
    """The base of relative links, as the page states it; "" if it states none."""
    return (document.base_url() if document.find_all("base") else "") or ""


def _text_of(document: turbohtml.Document) -> str:
    """The text of a document up to MOST_TEXT characters, a line for each piece between tags.
    `document.text` would join the words of two blocks without a space.
    """
    pieces = iter(document.strings)
    text = "\n".join(islice(pieces, PIECES))
    while len(text) < MOST_TEXT and (more := "\n".join(islice(pieces, PIECES))):
        text = f"{text}\n{more}"
    return text[:MOST_TEXT].replace("\0", "")


def _document_links(
    document: turbohtml.Document, reading: ReadingRules, metas: Sequence[turbohtml.Element]
) -> tuple[Iterable[ElementLink], Iterable[str], ElementLinks]:
    """The links for which `nofollow` counts, then the links for which it does not, each once. Also
    all links, by attribute.
    """
    refreshes = _refresh_links(metas)
    is_short = len(document.find_all("a")) < FEW_LINKS
    if reading.requisites or is_short or not has_plain_links(document):
        found: list[ElementLink] = [link for link in document.links() if link[0].tag != "meta"]
        if reading.requisites:
            found = [link for link in found if link[1] not in (None, "style")]
            found += _links_in_styles(document)
        links = [*found, *refreshes]
        return chain(links, _links_in_srcdoc(document)), (), all_links(links)
    plain = plain_links(document) | all_links(refreshes)
    names = ("link", "a") if reading.obey_nofollow else ("link",)
    judged = (
        (element, "href", url)
        for name in names
        for url, element in zip(*plain[name, "href"][:2], strict=True)
    )
    followed = () if reading.obey_nofollow else plain["a", "href"].first
    return chain(refreshes, judged), followed, plain


def _refresh_links(metas: Iterable[turbohtml.Element]) -> list[ElementLink]:
    """The targets of the page's refreshes, which may be several."""
    return [
        (meta, "content", target)
        for meta in metas
        if (meta.attr("http-equiv") or "").lower() == "refresh"
        and (target := refresh_target(meta.attr("content") or ""))
    ]


def refresh_target(content: str) -> str:
    """The address in a refresh, as written; "" if there is none (HTML Standard, section 4.2.5.3,
    the shared declarative refresh steps).
    """
    begin = REFRESH_TIME.match(content)
    if begin is None:
        return ""
    rest = content[begin.end() :].lstrip("\t\n\f\r ")
    if begin[0][-1] in "\t\n\f\r " and rest[:1] in (";", ","):
        rest = rest[1:].lstrip("\t\n\f\r ")
    if named := REFRESH_URL.match(rest):
        rest = rest[named.end() :]
    quote = rest[:1]
    return rest[1:].partition(quote)[0] if quote in ("'", '"') and quote else rest


def _links_in_srcdoc(document: turbohtml.Document) -> Iterator[ElementLink]:
    """The links of pages in a frame's attribute (`srcdoc`). Their base is the base of the
    surrounding page.
    """
    for frame in document.find_all("iframe"):
        if page := frame.attr("srcdoc"):
            yield from (link for link in turbohtml.parse(page).links() if link[0].tag != "meta")


def _links_in_styles(document: turbohtml.Document) -> list[ElementLink]:
    """The links in style sheets and styles of elements within the page."""
    sheets = [(element, None, element.text) for element in document.find_all("style")]
    styles = [(one, "style", one.attr("style") or "") for one in document.select("[style]")]
    return [
        (element, name, link)
        for element, name, sheet in (*sheets, *styles)
        for link in css_links(sheet)
    ]


def _take_links(
    written: Iterable[ElementLink], source: DocumentSource, links: Links, *, is_silent: bool
) -> bool:
    """Collect the links to be followed. Return whether any link by itself leads to a page.

    Most links of most pages lead to places in pages that were linked before; these are skipped.
    """
    reading, has_link = source.reading, False
    for element, name, url in written:
        if has_link and url.partition("#")[0] in links.taken:
            continue
        tag, is_shown = element.tag, False
        if tag == "link":
            relations = set(_relations_of_element(element))
            is_page, is_shown = bool(relations & PAGE_RELATIONS), bool(relations & SHOWN_RELATIONS)
        elif not (is_page := (tag, name) in LEADING):
            is_shown = (tag, name) in SHOWN or name == "style"
        if (
            is_page
            and not is_silent
            and not (
                reading.obey_nofollow
                and tag in ("a", "area")
                and not NOT_VOUCHED.isdisjoint(_relations_of_element(element))
            )
        ):
            links.add(url)
            has_link = has_link or tag != "link"
        elif is_shown and reading.requisites:
            links.add(url)
    return has_link


def _is_silent(metas: Iterable[turbohtml.Element], token: str) -> bool:
    """Whether the page asks all crawlers, or this crawler, not to follow its links."""
    words = (
        word
        for meta in metas
        if (meta.attr("name") or "").strip().lower() in ("robots", token.lower())
        for word in (meta.attr("content") or "").lower().replace(",", " ").split()
    )
    return not SILENCING.isdisjoint(words)


def title_of(document: turbohtml.Document) -> str:
    """The text of the document's title. A drawing in the page may have other titles."""
    titles = document.find_all("title")
    return next((one.text for one in titles if one.namespace is turbohtml.Namespace.HTML), "")


def _meta_texts(metas: Iterable[turbohtml.Element]) -> dict[str, str]:
    """The texts of `meta` elements, by name. Of several elements with one name, the first with a
    text counts.
    """
    told: dict[str, str] = {}
    for meta in metas:
        name = meta.attr("name") or meta.attr("property") or meta.attr("http-equiv")
        if name:
            told.setdefault(name.lower(), meta.attr("content") or "")
    return told


def _canonical_link(document: turbohtml.Document) -> str:
    link = next(
        (link for link in document.find_all("link") if "canonical" in _relations_of_element(link)),
        None,
    )
    return attribute_text(link, "href") if link else ""


def _has_scripts(document: turbohtml.Document) -> bool:
    kinds = (attribute_text(script, "type").lower() for script in document.find_all("script"))
    return any(not any(data in kind for data in DATA_SCRIPTS) for kind in kinds)


def _relations_of_element(element: turbohtml.Element) -> list[str]:
    return (element.attr("rel") or "").lower().split()
