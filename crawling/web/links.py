"""Addresses of the links in a document of any kind (SEEDS B5, W9), and sort keys of URLs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from urllib.parse import quote

from crawling.web.addresses import (
    MAX_URL_LENGTH,
    WEB,
    Address,
    BadUrl,
    LongUrl,
    canonical_address,
    read_address,
)
from crawling.web.content.encodings import percent_encoded_query
from crawling.web.documents.base import TruncationReason, one_line
from crawling.web.protocols import default_port

#: characters before and after a URL that do not belong to it (URL Standard, section 4.4); a
#: no-break space does
BLANKS = "".join(map(chr, range(33)))
#: characters at the end of an address that would be lost without its fragment
UNSEEN_ENDS = frozenset(BLANKS)
#: characters that are removed anywhere in a URL
NEWLINES = str.maketrans("", "", "\t\n\r")
#: the scheme of documents that are contained in a link, which may be of any length
EMBEDDED = "data:"
#: most links: paths that can be appended to a base unchanged, since no part is `.` or `..`
PLAIN = re.compile(r"/?[A-Za-z0-9_~-][A-Za-z0-9_.~-]*(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*/?")
#: the most links whose addresses are remembered, and the most characters of such a link
MOST_SHARED = 16_384
LONGEST_SHARED = 300
#: the most bytes of remembered directories and of the links of their pages, and the bytes of a
#: directory or a link besides its texts
MOST_REMEMBERED, ENTRY_BYTES = 8 * 1024 * 1024, 400
#: a link that is empty or only a query leads to the document itself, whatever its directory
BY_DOCUMENT = ("", "?")
#: the most links of a document; one with more is a trap or a dump, and its further links are left
#: out
MOST_LINKS = 50_000
#: the most faulty links of a document that are shown one by one, the most characters of each, and
#: the text for the others, which sorts last
MOST_BAD_LINKS, MOST_OF_A_LINK, OTHERS = 20, 200, "… and others"
#: the most rejected links that are kept to be shown
MOST_REJECTED = 100
#: stands for the address of a link that exceeds the length of URLs
TOO_LONG = Address("", "", "", 0)
#: the most characters of all links of a document, which stay in memory
MOST_CHARACTERS = 8 * 1024 * 1024


class Links:
    """The addresses to which a document links, in order, each once, without the document's own
    address.

    url: the document's canonical URL. base: the base of relative links, if the document states it;
    charset: the document's character set, in which queries are written. taken: the links added so
    far, without fragments; adding them again changes nothing. unread: LINKS once the limit is
    reached and no further links are added.
    """

    def __init__(self, url: str, *, charset: str = "", base: str = "") -> None:
        self.found: list[Address] = []
        self.unread: TruncationReason | None = None
        self._has_long = False
        self._rejected: list[str] = []
        self._more_rejected = 0
        self._characters = 0
        self._charset = charset
        url = url.partition("#")[0]  # the route that scripts show has the links of its document
        self._base = _absolute_url(base, url) if base else url
        self._start = _directories.of(self._base)
        self._known = self._start.known if self._start else {}
        # each distinct text is resolved once, since resolving takes most of the time
        self.taken = {""} if self._base == url else set()
        self._urls = {url}

    @property
    def left_out(self) -> TruncationReason | None:
        """The reason why links that the crawl could follow are missing in `found`; None if no link
        is missing.
        """
        return self.unread or (TruncationReason.LENGTH if self._has_long else None)

    def add(self, text: str) -> None:
        """Add a link as written. A link that is not a URL that can be crawled is left out."""
        self.add_all((text,))

    def add_all(self, texts: Iterable[str]) -> None:
        """Add links as `add` does. Most lead to places in a few documents."""
        taken, urls, found, known = self.taken, self._urls, self.found, self._known
        for text in dict.fromkeys([text.strip(BLANKS).partition("#")[0] for text in texts]):
            if text[-1:] in UNSEEN_ENDS:  # only in front of a fragment
                text = _quote_end(text)
            if text in taken:
                continue
            if len(found) >= MOST_LINKS or self._characters >= MOST_CHARACTERS:
                self.unread = TruncationReason.LINKS
                return
            self._characters += len(text)
            taken.add(text)
            address = known.get(text) or self._address_of(text)
            if not address or address is TOO_LONG:
                self._has_long = self._has_long or address is TOO_LONG
                self._reject(text)
            elif address.url not in urls:
                urls.add(address.url)
                found.append(address)

    def _reject(self, text: str) -> None:
        if len(self._rejected) < MOST_REJECTED:
            self._rejected.append(text[: MAX_URL_LENGTH + 1])
        else:
            self._more_rejected += 1

    def bad(self) -> dict[str, int]:
        """The faults of links that were added but cannot be followed, in the form of
        `faults_with_counts`.
        """
        told = faults_with_counts(self._rejected, self.fault_of)
        others = told.get(OTHERS, 0) + (self._more_rejected if told else 0)
        return told | ({OTHERS: others} if others else {})

    def target_of(self, text: str) -> str:
        """The address of a link that need not be added and is written without a fragment; "" if it
        is invalid.
        """
        text = text.strip(BLANKS)
        if not text:
            return self._base
        address = self._known.get(text) or self._address_of(text)
        return address.url if address else ""

    def _address_of(self, text: str) -> Address | None:
        """The address of any link without a fragment; None if it is invalid.

        Pages of one directory often share links, so parts that depend only on the directory are not
        computed again for each page.
        """
        if "?" in text:
            text = _encode_query(text, self._charset)
        if len(text) <= LONGEST_SHARED:
            if self._start and ":" not in text and text[:1] not in BY_DOCUMENT:
                return _directories.join(text, self._start)
            scheme, mark, _ = text.partition("://")
            if mark and scheme.isascii() and scheme.isalpha():
                return _absolute_address(text)
        return _address_of(text, self._base)

    def fault_of(self, text: str) -> str:
        """The fault of a link, as a predicate; "" if it has none, or if its scheme is never
        fetched, such as `mailto:`.
        """
        text, _ = split_fragment(text.strip(BLANKS))
        if not text or text[: len(EMBEDDED)].lower() == EMBEDDED:
            return ""
        if (address := self._address_of(text)) and address is not TOO_LONG:
            return ""
        try:
            read_address(_encode_query(text, self._charset), self._base)
        except BadUrl as bad:
            return bad.fault
        return ""

    def join(self, text: str) -> str:
        """The address of a single link; "" if the link is invalid."""
        try:
            return read_address(_encode_query(text.strip(BLANKS), self._charset), self._base).url
        except BadUrl:
            return ""

    def whole(self, text: str) -> str:
        """The address of a single link with its fragment; an invalid link as written."""
        address, fragment = split_fragment(text.strip(BLANKS))
        joined = self.join(address)
        if not joined:
            return text
        return f"{joined}#{fragment}" if "#" in text else joined


def faults_with_counts(links: Iterable[str], fault_of: Callable[[str], str]) -> dict[str, int]:
    """A sentence for each faulty link, with the number of links that it stands for. All links after
    the first MOST_BAD_LINKS different ones are counted together.
    """
    faults: dict[str, str] = {}
    told: dict[str, int] = {}
    others = 0
    for link in links:
        if link not in faults:
            faults[link] = fault_of(link)
        if not (fault := faults[link]):
            continue
        shown = link if len(link) <= MOST_OF_A_LINK else f"{link[:MOST_OF_A_LINK]}…"
        sentence = f"“{one_line(shown)}” {fault}"
        if sentence in told or len(told) < MOST_BAD_LINKS:
            told[sentence] = told.get(sentence, 0) + 1
        else:
            others += 1
    return told | ({OTHERS: others} if others else {})


def split_fragment(text: str) -> tuple[str, str]:
    """A link's address and its fragment."""
    address, _, fragment = text.partition("#")
    return _quote_end(address) if address[-1:] in UNSEEN_ENDS else address, fragment


def _quote_end(address: str) -> str:
    """An address that preceded a fragment. Blanks at its end are percent-encoded, since they belong
    to it, and would be lost.
    """
    address = address.translate(NEWLINES)
    ends = len(address.rstrip(BLANKS))
    return address[:ends] + quote(address[ends:])


def _address_of(text: str, base: str | None) -> Address | None:
    try:
        return read_address(text, base)
    except LongUrl:
        return TOO_LONG
    except BadUrl:
        return None


@lru_cache(MOST_SHARED)
def _absolute_address(text: str) -> Address | None:
    return _address_of(text, None)


class _Directory:
    """The directory of a base, from which relative links start."""

    def __init__(self, address: Address) -> None:
        self._address, self._origin = address, address.origin
        #: the addresses of the links of its pages, by the link as written
        self.known: dict[str, Address] = {}

    def join(self, text: str) -> Address | None:
        """The address of a link that has no scheme, is not empty and does not begin with a query.

        A plain path is appended to the directory, since a parser would take ten times as long.
        """
        level = 0
        while text.startswith("../", 3 * level):
            level += 1
        rest = text[3 * level :]
        if not PLAIN.fullmatch(rest) or (level and rest[0] == "/"):
            return _address_of(text, self._address.url)
        start = self._origin if rest[0] == "/" else self._url_above(level)
        return self._address._replace(url=start + rest)

    def _url_above(self, levels: int) -> str:
        """The URL of the directory `levels` levels above this one. The root's parent is the
        root.
        """
        url = self._address.url
        for _ in range(levels):
            end = url.rfind("/", 0, -1) + 1
            if end <= len(self._origin):
                break
            url = url[:end]
        return url


class _Directories:
    """The latest directories and the links of their pages, up to MOST_REMEMBERED bytes. Threads
    share them without a lock: the work of two threads at the same time is only done twice.
    """

    def __init__(self) -> None:
        self._directories: dict[str, _Directory] = {}
        self._bytes = 0

    def of(self, base: str) -> _Directory | None:
        """The directory of a canonical URL; None if the scheme or length of the URL needs a
        parser.
        """
        url = base.partition("?")[0].rpartition("/")[0] + "/"
        if found := self._directories.get(url):
            return found
        address = canonical_address(url)
        if address.scheme not in WEB or len(url) > MAX_URL_LENGTH - LONGEST_SHARED:
            return None
        self._count(ENTRY_BYTES + len(url))
        found = self._directories[url] = _Directory(address)
        return found

    def join(self, text: str, directory: _Directory) -> Address | None:
        """Join a link as the directory does, and remember the result."""
        address = directory.join(text)
        # a query is encoded in the document's character set
        if not address or address is TOO_LONG or ("?" in text and not text.isascii()):
            return address
        self._count(ENTRY_BYTES + len(text) + len(address.url))
        directory.known[text] = address
        return address

    def _count(self, size: int) -> None:
        """Forget everything if the limit would be exceeded."""
        self._bytes += size
        if self._bytes > MOST_REMEMBERED:
            self._directories, self._bytes = {}, size


_directories = _Directories()


def _absolute_url(base: str, url: str) -> str:
    try:
        return read_address(base, url).url
    except BadUrl:
        return url


def _encode_query(text: str, charset: str) -> str:
    """Encode a query as browsers send it: in the document's own character set (URL Standard,
    section 4.4, query state).
    """
    path, mark, query = text.partition("?")
    if query.isascii() or not charset or charset.startswith("UTF-"):
        return text
    return path + mark + percent_encoded_query(query, charset)


def surt(address: Address) -> str:
    """`com,example,www)/path?query` for `http://www.example.com/Path?query`. A port other than the
    scheme's own follows the name.
    """
    host = address.hostname
    is_number = ":" in host or host.rpartition(".")[2].isdigit()
    turned = host if is_number else ",".join(reversed(host.split(".")))
    port = "" if address.port == default_port(address.scheme) else f":{address.port}"
    path = "/" + address.url.split("/", 3)[3]
    return f"{turned}{port}){path}".lower()
