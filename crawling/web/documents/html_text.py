"""The whole text of an HTML document, for a search: its main text, and the text around that.

The parser's own guess of the main content was tried: it takes only one section of long reference
pages, and nothing of some pages. The parts that a page itself marks, such as `main`, are
unambiguous.
"""

from __future__ import annotations

from typing import NamedTuple

import turbohtml

from crawling.web.documents.base import one_line
from crawling.web.documents.html import UNSEEN, title_of

#: the most characters of a page that are kept; a search finds a longer page by its beginning
MOST_TEXT = 256 * 1024
MOST_AROUND = 32 * 1024
MOST_HEADINGS = 4 * 1024
HEADINGS = ("h1", "h2", "h3")
#: the most elements of each kind that are read; the text of an element includes all elements within
#: it
MOST_OF_A_KIND = 100
MAIN = "main, [role=main]"
#: the elements around the main text, in a page that marks no main part
AROUND = (
    "nav, aside, footer, body > header, [role=navigation], [role=banner], [role=complementary], "
    "[role=contentinfo]"
)
#: The parser pads the cells of tables to columns, and indents nested ones, so its text of a small
#: page may have 200 MB. As plain blocks these elements have only their own text.
PADDED = (
    *("table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th", "ul", "ol", "li", "menu"),
    *("dl", "dt", "dd", "blockquote", "pre", "fieldset", "details"),
)
STRICT = turbohtml.PlainText(layout="strict")


class PageText(NamedTuple):
    """The text of a document. Each part is one line."""

    title: str = ""
    headings: str = ""
    #: the main text of the page
    text: str = ""
    #: menus and other text around the main text
    around: str = ""
    #: the language, as the page states it
    language: str = ""


def text_of(document: turbohtml.Document) -> PageText:
    """Read a tree. Reading takes it apart for the most part."""
    title, root = one_line(title_of(document)), document.find("html")
    language = one_line(root.attr("lang"), 35) if root else ""
    for element in [found for name in UNSEEN for found in document.find_all(name)]:
        element.decompose()
    heads = [
        _bounded_line(heading.text, MOST_HEADINGS)
        for name in HEADINGS
        for heading in document.find_all(name, limit=MOST_OF_A_KIND)
    ]
    for element in [found for name in PADDED for found in document.find_all(name)]:
        element.tag = "div"
    text: turbohtml.Node = document
    main = document.select_one(MAIN)
    rest: turbohtml.Node
    if main is None:
        around = turbohtml.Element("div")
        for element in document.select(AROUND):
            around.append(element)
        rest = around
    else:
        text, rest = main.extract(), document
    return PageText(
        title,
        _bounded_line(" ".join(heads), MOST_HEADINGS),
        _bounded_line(text.to_text(STRICT), MOST_TEXT),
        _bounded_line(rest.to_text(STRICT), MOST_AROUND),
        language,
    )


def _bounded_line(text: str, most: int) -> str:
    """The first words, as one line that a database can store."""
    return " ".join(text[: 4 * most].split())[:most].replace("\0", "")
