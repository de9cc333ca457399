"""The common part of the fetchers of `file:` and `ftp:`: their task, and the page of links that
represents a directory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from mimetypes import guess_type
from threading import Lock
from urllib.parse import quote_from_bytes

from crawling.web.addresses import Address
from crawling.web.document_stream import DocumentStream, new_spool


@dataclass(frozen=True, slots=True)
class FetchTask:
    address: Address
    #: the vetted address, for a scheme with a host
    dial: str
    max_bytes: int
    #: called with the size of each piece; may wait
    received: Callable[[int], None]
    #: returns whether a connection to another port of that address is allowed
    may_dial: Callable[[int], bool]
    connect_seconds: float
    read_seconds: float
    document_seconds: float
    #: the order's user:password for the host, or empty
    secret: str = ""
    #: the directories that administrators allow
    directories: Sequence[str] = ()
    #: returns whether everything must end
    is_cut: Callable[[], bool] = lambda: False


HEADERS = {"Content-Type": "text/html; charset=utf-8"}
#: the most entries of a directory that are shown, and the most bytes of their names
MOST_ENTRIES = 50_000
MOST_NAME_BYTES = 4 * 1024 * 1024
#: a process sorts one directory at a time, since all its names are in memory then
SORTING = Lock()


def listing_page(path: bytes, entries: Iterable[tuple[bytes, bool]]) -> DocumentStream:
    """The page that represents a directory. entries: names, each with whether it is a directory."""
    title = escape(path.decode(errors="replace"))
    head = f"<!doctype html><title>Index of {title}</title>\n<h1>Index of {title}</h1>\n"
    page, size = new_spool(), 0
    with SORTING:
        lines = (
            _listing_link(name + b"/" if is_directory else name) + "\n"
            for name, is_directory in sorted(_limit_entries(entries))
        )
        for line in chain([head], lines):
            size += page.write(line.encode())
    return DocumentStream(page, size)


def _limit_entries(entries: Iterable[tuple[bytes, bool]]) -> Iterator[tuple[bytes, bool]]:
    size = 0
    for number, entry in enumerate(entries):
        size += len(entry[0])
        if number >= MOST_ENTRIES or size > MOST_NAME_BYTES:
            return
        yield entry


def guessed_type(path: str) -> str:
    """The Content-Type by the suffix of a name; unknown for a compressed file."""
    kind, coding = guess_type(path)
    return "application/octet-stream" if coding or not kind else kind


def _listing_link(name: bytes) -> str:
    """A relative link to a name; `./` keeps the text before a colon from becoming a scheme."""
    return f'<p><a href="./{quote_from_bytes(name)}">{escape(name.decode(errors="replace"))}</a>'
