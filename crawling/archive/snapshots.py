"""A stored page as a browser can show it without a request. The files that it loads are inlined if
they are archived. Everything that would run, send or lead elsewhere is removed. The response's
content security policy blocks all of that in any case, and protects readers. But a browser reports
each blocked thing as an error of the page, so it is removed here, too. This module is a part of the
program `snapshot_program`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import turbohtml
from turbohtml.rewrite import Element, rewrite

from crawling.archive.snapshot_styles import StyleContent, edit_sheet, has_addresses
from crawling.web.addresses import BadUrl, read_address

#: elements that only load or run something, or that change how other elements are read or where
#: they lead
LOADERS = {
    *("animate", "applet", "base", "embed", "frame", "iframe", "link", "meta", "portal"),
    *("script", "set"),
}
#: elements whose text is neither markup nor shown; in a drawing, or in a list of choices, a browser
#: reads that text as markup
UNSEEN = {"noembed", "noframes"}
#: the same for elements whose text is shown: with entities resolved, and without
ESCAPED, RAW = {"textarea", "title"}, {"plaintext", "xmp"}
#: elements that are left out while their content is shown
WRAPPERS = {"form", "object"}
#: attributes with the address of something that the page loads, opens or sends to, and an attribute
#: that a browser refuses in a frame
ADDRESSES = {
    *("action", "archive", "attributionsrc", "autofocus", "background", "code", "codebase", "data"),
    *("download", "formaction", "imagesrcset", "manifest", "ping", "poster", "src", "srcset"),
    *("srcdoc", "target", "xlink:href"),
}
#: the attributes in ADDRESSES that name an image, by element
IMAGES = {
    "img": ("src",),
    "input": ("src",),
    "video": ("poster",),
    "image": ("href", "xlink:href"),
    "feimage": ("href", "xlink:href"),
}
#: attributes of drawings that are also style properties
STYLES = {
    *("style", "clip-path", "cursor", "fill", "filter", "marker-end", "marker-mid", "marker-start"),
    *("mask", "stroke"),
}
#: the replacement of `<` in a text that a browser may read as markup
LESS_THAN = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"
INLINE = "data:"
INLINE_IMAGE = "data:image/"
#: the relation of a sheet that is not the page's default
ALTERNATE = "alternate"


class PageContent(StyleContent, Protocol):
    """Returns the content of a page's style sheets, and of its links."""

    def link(self, written: str) -> str: ...


def base_of(markup: str, url: str) -> str:
    """The base of a page's relative addresses."""
    bases = list[str]()

    def note(element: Element) -> None:
        if not bases and element.has_attribute("href"):
            bases.append(element.get("href") or "")

    rewrite(markup, elements=[("base", note)])
    try:
        return read_address(bases[0], url).url if bases else url
    except BadUrl:
        return url


def edit_page(
    markup: str, loads: PageContent, *, is_nested: bool = False, is_rendered: bool = False
) -> str:
    """is_nested: the markup is the content of `noscript`. is_rendered: a browser with scripts made
    the document, so `noscript` represents nothing (HTML Standard, 4.12.2).
    """
    edit = _SnapshotEdit(loads, is_nested, is_rendered)
    return rewrite(markup, elements=[("*", edit.element)], text=edit.text)


class _SnapshotEdit:
    """Edits elements in their order. The text of a style sheet follows its element.

    The content of `noscript` is one text, which a browser without scripts reads as markup.
    """

    def __init__(self, loads: PageContent, is_nested: bool, is_rendered: bool) -> None:
        self._loads, self._is_nested = loads, is_nested
        self._removed = {*LOADERS, *UNSEEN, *(["noscript"] if is_rendered else ())}
        self._last = ""

    def element(self, element: Element) -> None:
        self._last = element.tag
        if element.tag == "link":
            self._edit_sheet_link(element)
        elif element.tag in self._removed:
            element.remove()
        else:
            self._edit_attributes(element)
            if element.tag in WRAPPERS:
                element.remove_and_keep_content()

    def text(self, text: Element) -> None:
        written = text.text or ""
        if self._last == "style":
            text.set_text(edit_sheet(written, self._loads))
        elif self._last == "noscript":
            nested = "" if self._is_nested else edit_page(written, self._loads, is_nested=True)
            text.set_text(nested)
        elif self._last in ESCAPED:
            text.set_text(written)
            return  # the parser passes a piece for each entity
        elif self._last in RAW:
            text.set_text(written.replace("<", LESS_THAN))
        self._last = ""

    def _edit_sheet_link(self, element: Element) -> None:
        kinds = (element.get("rel") or "").lower().split()
        is_sheet = "stylesheet" in kinds and ALTERNATE not in kinds
        shown = self._loads.sheet(element.get("href") or "") if is_sheet else ""
        if not shown:
            element.remove()
            return
        for name, _ in element.attrs:
            if name not in ("rel", "media", "title", "disabled"):
                element.remove_attribute(name)
        element.set_attribute("href", shown)

    def _edit_attributes(self, element: Element) -> None:
        images = (*IMAGES.get(element.tag, ()), "background")
        several = self._first_stored_image(element)
        for name, value in element.attrs:
            if name in images:
                self._set_or_drop(element, name, self._image(value or ""))
            elif name == "href":
                self._edit_link(element, value or "")
            elif name in STYLES and has_addresses(value or ""):
                element.set_attribute(name, edit_sheet(value or "", self._loads))
            elif name.startswith("on") or name in ADDRESSES:
                element.remove_attribute(name)
        if several and element.tag == "source":
            element.set_attribute("srcset", several)
        elif several and not element.get("src"):
            element.set_attribute("src", several)

    def _first_stored_image(self, element: Element) -> str:
        """The first image of a `srcset` that is stored."""
        if element.tag not in ("img", "source") or not element.has_attribute("srcset"):
            return ""
        listed = turbohtml.parse("<img>")
        image = listed.select_one("img")
        assert image
        image.attrs["srcset"] = element.get("srcset") or ""
        found = [self._image(link.url) for link in listed.links()]
        return next(filter(None, found), "")

    def _image(self, written: str) -> str:
        if written.strip().lower().startswith(INLINE_IMAGE):
            return written
        return self._loads.file(written)

    def _edit_link(self, element: Element, written: str) -> None:
        """Let a link lead to the stored page, or nowhere, and mark it accordingly."""
        if written.lstrip().startswith("#"):
            return
        if element.tag not in ("a", "area"):
            element.remove_attribute("href")
            return
        shown = self._loads.link(written)
        self._set_or_drop(element, "href", shown)
        if not (shown or element.has_attribute("title")):
            element.set_attribute("title", f"Not archived: {written}")

    @staticmethod
    def _set_or_drop(element: Element, name: str, value: str) -> None:
        if value:
            element.set_attribute(name, value)
        else:
            element.remove_attribute(name)


def resolver(base: str) -> Callable[[str], str]:
    """Return a function that gives addresses in a document their canonical form; empty if an
    address cannot be archived.
    """

    def resolve(written: str) -> str:
        try:
            return read_address(written.strip(), base).url if written.strip() else ""
        except BadUrl:
            return ""

    return resolve
