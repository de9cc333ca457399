"""The program of `pdf`: it reads one PDF from its input, which is a file, and writes its content as
JSON.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crawling.machine.sandbox_program import run_sandboxed

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

MOST_PAGES = 500
MOST_LINKS = 10_000
MOST_TEXT = 32_768
#: the most pages whose text is read, since reading text takes the most time
TEXT_PAGES = 3

#: the errors of pypdf for a broken page, besides its own exceptions; only the links and the text of
#: that page are lost
BROKEN_PAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
)


def links_of(page: PageObject) -> list[str]:
    """The addresses of a page's link annotations (ISO 32000-1, section 12.6.4.7)."""
    found = []
    for entry in page.get("/Annots") or ():
        action = entry.get_object().get("/A")
        address = action.get_object().get("/URI") if action else None
        if address is not None:
            found.append(address.decode("latin-1") if isinstance(address, bytes) else str(address))
    return found


def main() -> None:
    from pypdf import PdfReader  # imported here, so that the limits apply to the import, too
    from pypdf.errors import PyPdfError

    logging.disable()
    told = read(PdfReader(sys.stdin.buffer, strict=False), (PyPdfError, *BROKEN_PAGE))
    json.dump(told, sys.stdout)


def read(reader: PdfReader, broken_page: tuple[type[Exception], ...]) -> dict[str, Any]:
    """The text and links of a document. A page that cannot be read is left out."""
    if reader.is_encrypted:
        reader.decrypt("")
    links: list[str] = []
    text = unread = ""
    for number, page in enumerate(reader.pages):
        if number >= MOST_PAGES or len(links) >= MOST_LINKS:
            unread = "size" if number >= MOST_PAGES else "links"
            break
        try:
            links += links_of(page)
            if number < TEXT_PAGES and len(text) < MOST_TEXT:
                text += page.extract_text() + "\n"
        except broken_page:
            unread = "broken"
            continue
    about: Mapping[str, Any] = reader.metadata or {}
    told = {"title": about.get("/Title"), "author": about.get("/Author")}
    told = {name: str(value.get_object()) for name, value in told.items() if value is not None}
    return {**told, "unread": unread, "links": links[:MOST_LINKS], "text": text[:MOST_TEXT]}


if __name__ == "__main__":
    run_sandboxed(main)
