"""The pages of `docs/` that operators read, converted to HTML once, within the product. Also the
terms of the glossary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

from serving.access import AuthenticatedRequest, authenticated

#: the words on the tab of each document, by the name of its file
DOCUMENTS = {
    "guide": "Guide",
    "glossary": "Glossary",
    "orders": "Fields of a crawl",
    "statuses": "Statuses",
    "command-line": "Command line",
    "operations": "Operations",
}
#: the document each of whose paragraphs explains a term; the term is the anchor
GLOSSARY = "glossary"
TERM = re.compile(r"^\*\*(?P<term>[^*]+)\*\* – (?P<text>.+?)(?=\n\n|\Z)", re.M | re.S)
#: text in brackets for readers of the code
FOR_THE_CODE = re.compile(r"\s*\((?:\[[^\]]+\]\([^)]*\)|`[^`]*`)\)")
LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


@dataclass(frozen=True)
class HelpDocument:
    title: str
    html: str
    #: the anchors and headings of its sections
    sections: tuple[tuple[str, str], ...]


def _open_table(*_: Any) -> str:
    return '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>\n'


def _close_table(*_: Any) -> str:
    return "</table></div>\n"


def _render_code(tokens: Sequence[Token], index: int, *_: Any) -> str:
    """A block of code that can also be scrolled by keyboard."""
    escaped = tokens[index].content.replace("&", "&amp;").replace("<", "&lt;")
    return f'<pre tabindex="0"><code>{escaped}</code></pre>\n'


MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
MARKDOWN.add_render_rule("table_open", lambda _, *given: _open_table(*given))
MARKDOWN.add_render_rule("table_close", lambda _, *given: _close_table(*given))
for block in ("fence", "code_block"):
    MARKDOWN.add_render_rule(block, lambda _, *given: _render_code(*given))


@cache
def glossary_terms() -> dict[str, str]:
    """The terms of the glossary with their explanations, in plain text."""
    found = {one["term"]: one["text"] for one in TERM.finditer(_document_source(GLOSSARY))}
    return {
        term: " ".join(re.sub(r"[`*]", "", LINK.sub(r"\1", FOR_THE_CODE.sub("", text))).split())
        for term, text in found.items()
    }


@cache
def document_of(name: str, address_of: Callable[[str], str]) -> HelpDocument:
    """A document in DOCUMENTS, with links to the others by their addresses.

    Pictures are left out, since readers have the product open. Links to documents that are not
    served are left out, too.
    """
    source = _document_source(name)
    title = source.partition("\n")[0].removeprefix("# ")
    # the text of the glossary before its first term is for readers of the code
    first_term = TERM.search(source) if name == GLOSSARY else None
    text = source[first_term.start() :] if first_term else source.partition("\n")[2]
    tokens, sections = MARKDOWN.parse(text), []
    for token, content in zip(tokens, [*tokens[1:], Token("", "", 0)], strict=True):
        if token.type == "heading_open":
            anchor = slugify(content.content)
            token.attrSet("id", anchor)
            sections += [(anchor, content.content)] if token.tag == "h2" else []
        elif token.type == "th_open":
            token.attrSet("scope", "col")
        elif token.type == "paragraph_open" and name == GLOSSARY:
            token.attrSet("id", slugify(content.content.partition("** – ")[0]))
        elif token.type == "inline":
            token.children = list(_tokens_with_served_links(token.children or [], address_of))
    return HelpDocument(
        title, MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}), tuple(sections)
    )


def _document_source(name: str) -> str:
    return (settings.BASE_DIR / "docs" / f"{name}.md").read_text(encoding="utf-8")


def _tokens_with_served_links(
    tokens: list[Token], address_of: Callable[[str], str]
) -> Iterator[Token]:
    """The tokens of a line, with links only to served documents and to other sites."""
    is_dropped = False
    for token in tokens:
        if token.type == "link_open":
            target = _link_target(str(token.attrGet("href")), address_of)
            is_dropped = not target
            token.attrSet("href", target)
        is_link = token.type in ("link_open", "link_close")
        if token.type != "image" and not (is_link and is_dropped):
            yield token


def _link_target(address: str, address_of: Callable[[str], str]) -> str:
    """The target of a link from a served document; "" if the target is not served."""
    if address.startswith(("#", "http://", "https://")):
        return address
    path, mark, anchor = address.partition("#")
    name = path.removesuffix(".md")
    return f"{address_of(name)}{mark}{anchor}" if name in DOCUMENTS else ""


@authenticated(needs="")
def render_document(request: AuthenticatedRequest, document: str = "guide") -> HttpResponse:
    if document not in DOCUMENTS:
        raise Http404(f"There is no page of help named {document}.")
    tabs = [(one, _address_of_document(one), words) for one, words in DOCUMENTS.items()]
    here = {"name": document, "tabs": tabs, "document": document_of(document, _address_of_document)}
    return render(request, "help/document.html", here)


def _address_of_document(name: str) -> str:
    return reverse("help-document", args=[name])
