"""A stored page as a browser can show it without a request: what would load, run, send or lead
elsewhere is taken out.

The policy that the document is sent with blocks all of that in any case, and is what readers rely
on; a browser reports each thing that it blocks as an error of the page.
"""

from __future__ import annotations

import re

from turbohtml.rewrite import Element, rewrite

#: larger documents are shown as they are
MOST_REWRITTEN_BYTES = 4 * 1024 * 1024
#: elements that only load or run something, or that change how the rest is read
LOADERS = {"applet", "base", "embed", "frame", "iframe", "link", "meta", "portal", "script"}
#: elements whose content is shown without them
WRAPPERS = {"form", "object"}
#: attributes with the address of something to load, to send to or to open, and one that a browser
#: refuses to a frame
ADDRESSES = {
    *("action", "archive", "autofocus", "background", "code", "codebase", "data", "formaction"),
    *("imagesrcset", "manifest", "ping", "poster", "src", "srcset", "target", "xlink:href"),
}
IMPORT = re.compile(r"@import\b[^;{}]{0,2000}+;?+", re.IGNORECASE)
LOADED = re.compile(r"""url\(\s{0,20}+(?:"[^"]*+"|'[^']*+'|[^()"']*+)\s{0,20}+\)""", re.IGNORECASE)
INLINE_IMAGE = re.compile(r"""(?:url\()?+[\s"']{0,20}+data:image/""", re.IGNORECASE)


def without_requests(document: bytes, charset: str) -> bytes:
    """The page without what a browser would have to block; it is given as it is, if it is long or
    its encoding is unknown.
    """
    if len(document) > MOST_REWRITTEN_BYTES:
        return document
    try:
        text = document.decode(charset, "replace")
        return _rewritten(text).encode(charset, "xmlcharrefreplace")
    except (LookupError, UnicodeError):
        return document


def _rewritten(markup: str, *, is_nested: bool = False) -> str:
    edit = _SnapshotEdit(is_nested)
    return rewrite(markup, elements=[("*", edit.element)], text=edit.text)


class _SnapshotEdit:
    """Edits elements in their order; the text of a style sheet comes next after its element.

    The content of `noscript` is one text, which a browser without scripts reads as markup.
    """

    def __init__(self, is_nested: bool) -> None:
        self._is_nested = is_nested
        self._last = ""

    def element(self, element: Element) -> None:
        self._last = element.tag
        if element.tag in LOADERS:
            element.remove()
            return
        for name, value in element.attrs:
            _edit_attribute(element, name, value or "")
        if element.tag in WRAPPERS:
            element.remove_and_keep_content()

    def text(self, text: Element) -> None:
        if self._last == "style":
            text.set_text(_edit_style(text.text or ""))
        elif self._last == "noscript" and not self._is_nested:
            text.set_text(_rewritten(text.text or "", is_nested=True))
        self._last = ""


def _edit_attribute(element: Element, name: str, value: str) -> None:
    if name == "href":
        _edit_link(element, value)
    elif name == "style":
        element.set_attribute(name, _edit_style(value))
    elif name.startswith("on") or (name in ADDRESSES and not INLINE_IMAGE.match(value)):
        element.remove_attribute(name)


def _edit_link(element: Element, address: str) -> None:
    """A link leads nowhere, and shows on hover where it led."""
    if address.lstrip().startswith("#"):
        return
    if element.tag not in ("a", "area"):
        element.remove_attribute("href")
        return
    element.set_attribute("href", "#")
    if not element.has_attribute("title"):
        element.set_attribute("title", address)


def _edit_style(style: str) -> str:
    return LOADED.sub(_inline_or_none, IMPORT.sub("", style))


def _inline_or_none(match: re.Match[str]) -> str:
    return match[0] if INLINE_IMAGE.match(match[0]) else "none"
