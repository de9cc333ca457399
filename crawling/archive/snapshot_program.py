"""Joins a stored page with the files that it loads. `snapshot_view` runs this module as a separate
program and sends it one record after the other: the page, its style sheets, its files. Then it asks
for the result.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from crawling.archive.decoded_documents import document_in
from crawling.archive.snapshot_styles import edit_sheet
from crawling.archive.snapshots import INLINE, base_of, edit_page, resolver
from crawling.archive.unpacker import read_record
from crawling.base.errors import ArchiveTrouble
from crawling.machine.sandbox_program import run_sandboxed, work_on_tasks

#: the kinds of tasks
PAGE, SHEET, FILE, SHOW = "page", "sheet", "file", "show"
#: the most bytes of a page, and of a style sheet, that are shown
MOST_PAGE, MOST_SHEET = 4 * 1024 * 1024, 1024 * 1024
#: the most characters of all inlined files, repetitions included
MOST_INLINED = 24 * 1024 * 1024
#: the most distinct addresses of files and of links that are read in a page and its style sheets
MOST_FILES, MOST_LINKS = 600, 3000
#: the depth to which style sheets may import others
MOST_NESTED = 4
IMAGES = {
    *("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"),
    *("image/bmp", "image/x-icon", "image/vnd.microsoft.icon"),
}
#: font types by the first bytes of a file, since servers send fonts with many types
FONTS = {
    b"wOF2": "font/woff2",
    b"wOFF": "font/woff",
    b"OTTO": "font/otf",
    b"\0\1\0\0": "font/ttf",
    b"true": "font/ttf",
}


@dataclass
class _SeenAddresses:
    """Collects the addresses in a page, and leaves them as they are."""

    resolve: Callable[[str], str]
    sheets: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    links: dict[str, None] = field(default_factory=dict)

    def sheet(self, written: str) -> str:
        return self._add_url(self.sheets, written, MOST_FILES)

    def file(self, written: str) -> str:
        return self._add_url(self.files, written, MOST_FILES)

    def link(self, written: str) -> str:
        return self._add_url(self.links, written, MOST_LINKS)

    def _add_url(self, kind: dict[str, None], written: str, most: int) -> str:
        if len(kind) < most and (url := self.resolve(written)):
            kind[url] = None
        return ""

    def told(self) -> bytes:
        lists = {"sheets": [*self.sheets], "files": [*self.files], "links": [*self.links]}
        return json.dumps(lists).encode()


@dataclass(frozen=True)
class _StoredStyle:
    text: str
    base: str


@dataclass
class SnapshotProgram:
    url: str = ""
    markup: str = ""
    is_rendered: bool = False
    sheets: dict[str, _StoredStyle] = field(default_factory=dict)
    #: data URLs
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    inlined: int = 0
    left_out: set[str] = field(default_factory=set)

    def work(self, task: dict[str, Any], content: bytes) -> bytes:
        if task["do"] == SHOW:
            self.links = json.loads(content)
            loads = _ViewContent(self, base_of(self.markup, self.url), 0)
            whole = edit_page(self.markup, loads, is_rendered=self.is_rendered)
            return b"%d\n" % len(self.left_out) + whole.encode("utf-8", "replace")
        if task["do"] == PAGE:
            self.url, self.is_rendered = task["url"], task["is_rendered"]
            self.markup = _decoded(_document(content)[:MOST_PAGE], task["charset"])
            noted = _SeenAddresses(resolver(base_of(self.markup, self.url)))
            edit_page(self.markup, noted, is_rendered=self.is_rendered)
            return noted.told()
        try:
            document = _document(content)
        except ArchiveTrouble:
            return b""
        if task["do"] == SHEET:
            return self._add_sheet(task, document)
        return self._add_file(task, document)

    def _add_sheet(self, task: dict[str, Any], document: bytes) -> bytes:
        sheet = _StoredStyle(_decoded(document[:MOST_SHEET], task["charset"]), task["base"])
        self.sheets[task["url"]] = sheet
        noted = _SeenAddresses(resolver(sheet.base))
        edit_sheet(sheet.text, noted)
        return noted.told()

    def _add_file(self, task: dict[str, Any], document: bytes) -> bytes:
        kind = task["type"] if task["type"] in IMAGES else FONTS.get(document[:4], "")
        if kind:
            self.files[task["url"]] = f"data:{kind};base64,{b64encode(document).decode()}"
        return kind.encode()


@dataclass(frozen=True)
class _ViewContent:
    """Replaces the addresses in a page or a style sheet."""

    program: SnapshotProgram
    base: str
    nested: int

    def sheet(self, written: str) -> str:
        url = resolver(self.base)(written)
        found = self.program.sheets.get(url)
        if found is None or self.nested >= MOST_NESTED:
            return ""
        inner = _ViewContent(self.program, found.base, self.nested + 1)
        text = edit_sheet(found.text, inner).encode("utf-8", "replace")
        return self._inlined_or_left_out(
            url, f"data:text/css;charset=utf-8;base64,{b64encode(text).decode()}"
        )

    def file(self, written: str) -> str:
        if written.strip().lower().startswith(INLINE):
            return written
        url = resolver(self.base)(written)
        return self._inlined_or_left_out(url, self.program.files.get(url, ""))

    def link(self, written: str) -> str:
        url = resolver(self.base)(written)
        _, mark, fragment = written.partition("#")
        if url == self.program.url and mark:
            return f"#{fragment}"
        found = self.program.links.get(url, "")
        return f"{found}{mark}{fragment}" if found else ""

    def _inlined_or_left_out(self, url: str, shown: str) -> str:
        program = self.program
        if program.inlined + len(shown) > MOST_INLINED:
            program.left_out.add(url)
            return ""
        program.inlined += len(shown)
        return shown


def _document(packed: bytes) -> bytes:
    return document_in(read_record(packed))


def _decoded(document: bytes, charset: str) -> str:
    try:
        return document.decode(charset or "utf-8", "replace")
    except (LookupError, UnicodeError):
        return document.decode("windows-1252", "replace")


if __name__ == "__main__":
    run_sandboxed(lambda: work_on_tasks(SnapshotProgram().work), ArchiveTrouble)
