"""Documents with links to the files of a mirror. A part of the program `rewriting_program`."""

from __future__ import annotations

import turbohtml

from crawling.uses.exports.mirror.file_paths import FilePaths
from crawling.web.addresses import BadUrl, read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.charsets import decoded_pieces
from crawling.web.documents.css import ESCAPE, MOST_BYTES, unescaped_text
from crawling.web.documents.tree import parse_html

#: Browsers load only files of the mirror, whatever a page or its scripts request. Scripts may run,
#: since many pages are empty without them.
POLICY = "default-src 'self' file: data: blob: 'unsafe-inline' 'unsafe-eval'"
HEAD = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
#: attributes that make browsers check a file's digest, load it as if from another origin, or report
#: clicks to a server
DROPPED = ("integrity", "crossorigin", "ping", "nonce", "codebase")
#: elements that set the base of links, restrict loading, or look up names in advance
REMOVED = (
    "base, meta[http-equiv='content-security-policy' i], link[rel~='preconnect' i], "
    "link[rel~='dns-prefetch' i], link[rel~='prefetch' i], link[rel~='prerender' i], "
    "link[rel~='manifest' i]"
)
REFRESH = "meta[http-equiv='refresh' i]"
#: prefixes of links that lead to no document
KEPT = ("data:", "javascript:", "mailto:", "tel:", "blob:", "about:")
#: the most levels of pages that are nested in attributes of pages
MOST_NESTED = 3


class DocumentLinks:
    def __init__(self, paths: FilePaths, url: str, path: str) -> None:
        self._paths, self._url, self._path = paths, url, path
        self._base = url

    def page(self, body: DocumentStream, charset: str | None) -> bytes:
        """An HTML document in UTF-8, read up to the limits of its reader."""
        document = parse_html(body, charset).document
        self._set_base(document)
        self._edit(document, 0)
        if head := document.select_one("head"):
            head.insert_adjacent_html("afterbegin", HEAD)
        return document.serialize().encode("utf-8", "replace")

    def sheet(self, body: DocumentStream, charset: str | None) -> bytes:
        """A style sheet in UTF-8. A byte order mark overrides the encoding that the sheet
        states.
        """
        text = "".join(decoded_pieces(body, MOST_BYTES, charset)[0])
        document = turbohtml.parse("<style></style>")
        style = document.select_one("style")
        assert style
        style.append(turbohtml.Text(text))
        document.rewrite_links(lambda link: self._link(ESCAPE.sub(unescaped_text, link)))
        return style.text.encode("utf-8-sig", "replace")

    def _set_base(self, document: turbohtml.Document) -> None:
        base = document.select_one("base[href]")
        if base is None:
            return
        try:
            self._base = read_address(str(base.attrs["href"]), self._url).url
        except BadUrl:
            return

    def _edit(self, document: turbohtml.Document, nested: int) -> None:
        for element in document.select(REMOVED):
            element.decompose()
        for name in DROPPED:
            for element in document.select(f"[{name}]"):
                del element.attrs[name]
        for element in document.select("iframe[srcdoc]"):
            self._edit_nested(element, nested)
        document.rewrite_links(self._link)
        for element in document.select(REFRESH):
            if "url=http" in "".join(str(element.attrs.get("content", "")).lower().split()):
                element.decompose()  # this element would lead to the web automatically

    def _edit_nested(self, element: turbohtml.Element, nested: int) -> None:
        if nested >= MOST_NESTED:
            element.attrs["srcdoc"] = ""
            return
        inner = turbohtml.parse(str(element.attrs["srcdoc"]))
        self._edit(inner, nested + 1)
        element.attrs["srcdoc"] = inner.serialize()

    def _link(self, text: str) -> str:
        written = text.strip()
        is_here = written.startswith("#") and self._base == self._url
        if not written or is_here or written.lower().startswith(KEPT):
            return text
        return self._paths.rewritten_link(text, self._base, self._path)
