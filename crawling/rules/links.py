"""Makes addresses of the links that a document of any kind holds (SEEDS B5, W9)."""

from __future__ import annotations

import re
from urllib.parse import quote

from crawling.rules.addresses import Address, BadUrl, read_address

#: what a URL may have before and behind it (URL Standard, section 4.4); a no-break space belongs to it
BLANKS = "".join(map(chr, range(33)))
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
#: a document with more is a trap or a dump; what is behind them is left out
MOST_LINKS = 50_000


class Links:
    """The addresses that a document leads to, in its order, each once and without its own.

    base: what relative links start from, if the document states it; charset: the document's, which queries are written in.
    """

    def __init__(self, url: str, *, charset: str = "", base: str = "") -> None:
        self.found: list[Address] = []
        self._charset = charset
        self._base = _joined(base, url) if base else url
        # Each distinct text is joined once: joining is what costs here.
        self._done = {""} if self._base == url else set()
        self._urls = {url}

    def add(self, text: str) -> None:
        """Take up a link as it is written; what is no URL that can be crawled is passed over."""
        text = text.partition("#")[0].strip(BLANKS)
        if text in self._done or len(self.found) >= MOST_LINKS:
            return
        self._done.add(text)
        try:
            address = read_address(_encode_query(text, self._charset), self._base)
        except BadUrl:
            return
        if address.url not in self._urls:
            self._urls.add(address.url)
            self.found.append(address)

    def join(self, text: str) -> str:
        """The address of one link by itself; "" if it is none."""
        try:
            return read_address(_encode_query(text.strip(BLANKS), self._charset), self._base).url
        except BadUrl:
            return ""


def _joined(base: str, url: str) -> str:
    try:
        return read_address(base, url).url
    except BadUrl:
        return url


def _encode_query(text: str, charset: str) -> str:
    """Write a query as browsers send it: in the document's own character set (URL Standard, section 4.4, query state)."""
    path, mark, query = text.partition("?")
    if query.isascii() or charset.startswith("UTF-"):
        return text
    try:
        return path + mark + NOT_ASCII.sub(lambda run: quote(run[0].encode(charset, "xmlcharrefreplace"), safe=""), query)
    except LookupError:  # a character set of the web that Python has not
        return text
