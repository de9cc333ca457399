"""The text of a stored page as a reader sees it, in a form without differences of white space,
markup and character coding.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import StringIO
from typing import NamedTuple

import turbohtml

from crawling.archive.decoded_documents import document_in
from crawling.archive.reader import page_as_shown, record_of
from crawling.base.errors import ArchiveTrouble
from crawling.models import Page
from crawling.web.content.normal_text import normalized_line
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.charsets import decode
from crawling.web.documents.css_selectors import SelectorTookTooLong, select_elements
from crawling.web.documents.tree import MOST_BYTES, parse_html

#: the most elements that a selector selects, and the most characters of their text in total; nested
#: elements repeat their text
MOST_ELEMENTS, MOST_CHARACTERS = 1000, MOST_BYTES
#: the most bytes of a JSON document whose values are compared, since these take thirty times its
#: memory; a larger one is compared as written
MOST_JSON_BYTES = 1024 * 1024
UNSEEN = "script,style,noscript,template"
#: elements that begin and end a line (HTML Standard, 15.3: their `display` is not `inline`)
BLOCKS = (
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details"),
    *("dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "legend", "li", "listing"),
    *("main", "menu", "nav", "ol", "optgroup", "option", "p", "plaintext", "pre", "search"),
    *("section", "select", "summary", "table", "tbody", "td", "textarea", "tfoot", "th", "thead"),
    *("title", "tr", "ul", "xmp", "br", "button", "iframe", "video", "audio"),
)
#: elements in whose text line breaks count
KEEPING = ("pre", "textarea", "listing", "xmp", "plaintext")
#: the end of a line while a tree is read; no text in a tree of HTML contains this character
BREAK = "\0"
LINE = re.compile(r"[^\r\n]++")
BROKEN_LINE = re.compile(r"[^\0]++")


class SeenText(NamedTuple):
    #: lines that are not empty, with one blank between words, in Unicode's form C
    text: str
    #: a sentence on unread parts; empty if the whole text was read
    unread: str = ""


def seen_text(page: Page, selector: str = "") -> SeenText:
    """The text of a stored page as a reader sees it.

    selector: of HTML only the elements that it selects are read, and nothing of other types.

    Raises ArchiveTrouble if the document is not stored or is not text.
    """
    kind = page.content_type
    if kind.partition("/")[0] != "text" and not kind.endswith(("xml", "json")):
        raise ArchiveTrouble(
            f"{kind or 'A document without a type'} has no text that could be compared."
        )
    shown = page_as_shown(page)
    whole = document_in(record_of(shown))
    payload = whole[:MOST_BYTES]
    unread = f"Only the first {MOST_BYTES:,} bytes are compared." if len(whole) > MOST_BYTES else ""
    if "html" in kind:
        tree = parse_html(DocumentStream.of(payload), shown.charset or None)
        if tree.unread:
            unread = f"Only the beginning is compared. {tree.unread.sentence}"
        return SeenText(_joined_lines(_html_lines(tree.document, selector)), unread)
    if selector:
        return SeenText("")
    text, _ = decode(payload, page.charset or None)
    if kind.endswith("json") and len(payload) <= MOST_JSON_BYTES:
        text = _json_lines(text)
    return SeenText(_joined_lines(_split_lines(text)), unread)


def _joined_lines(lines: Iterable[str]) -> str:
    """The lines, joined one by one: a list of short lines would take thirty times as much
    memory.
    """
    text = StringIO()
    for line in lines:
        if kept := normalized_line(line):
            text.write(kept + "\n")
    return text.getvalue()


def _split_lines(text: str, end: re.Pattern[str] = LINE) -> Iterator[str]:
    return (line[0] for line in end.finditer(text))


def _html_lines(document: turbohtml.Document, selector: str) -> Iterator[str]:
    """A line for each block. Line breaks of the source become blanks, except in elements that
    preserve them.
    """
    document.remove(UNSEEN)
    parts = _selected_elements(document, selector) if selector else [document]
    for element in [found for name in KEEPING for found in document.find_all(name)]:
        for node in list(element.descendants):
            if isinstance(node, turbohtml.Text):
                node.replace_with(turbohtml.Text(node.text.replace("\n", BREAK)))
    for element in [found for name in BLOCKS for found in document.find_all(name)]:
        element.insert_before(turbohtml.Text(BREAK))
        element.insert_after(turbohtml.Text(BREAK))
    left = MOST_CHARACTERS
    for part in parts:
        text = part.text[:left]
        yield from _split_lines(text, BROKEN_LINE)
        left -= len(text)


def _selected_elements(document: turbohtml.Document, selector: str) -> Sequence[turbohtml.Element]:
    """Raises ArchiveTrouble."""
    try:
        return select_elements(document, selector)[:MOST_ELEMENTS]
    except SelectorTookTooLong as error:
        raise ArchiveTrouble(str(error)) from error


def _json_lines(text: str) -> str:
    """A line for each value. Members are sorted by name, since their order has no meaning (RFC
    8259, section 4).
    """
    with suppress(ValueError, RecursionError):
        read = json.loads(text, object_pairs_hook=_object_members, parse_float=str)
        lines = json.dumps(read, ensure_ascii=False, indent=1, sort_keys=True)
        # a lone surrogate may be among the escaped characters
        return lines.encode(errors="replace").decode()
    return text


def _object_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The members of a JSON object. Raises ValueError if a name occurs twice, since one of the
    values would not be compared.
    """
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is named twice")
    return members
