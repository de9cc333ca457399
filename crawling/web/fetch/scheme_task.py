"""The shared part of the fetchers of `file:` and `ftp:`: their task, and a directory as a page of
links.
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
    #: the vetted address of a scheme that goes to a host
    dial: str
    max_bytes: int
    #: gets each piece's size, and may wait
    received: Callable[[int], None]
    #: whether another port of that address is allowed
    may_dial: Callable[[int], bool]
    connect_seconds: float
    read_seconds: float
    document_seconds: float
    #: user:password of the order for the host, or empty
    secret: str = ""
    #: the directories that administrators allow
    directories: Sequence[str] = ()
    #: whether everything is to end
    is_cut: Callable[[], bool] = lambda: False


HEADERS = {"Content-Type": "text/html; charset=utf-8"}
#: a directory with more entries, or bytes in their names, is shown so far
MOST_ENTRIES = 50_000
MOST_NAME_BYTES = 4 * 1024 * 1024
#: one directory is sorted at a time in a process, since all its names are in memory then
SORTING = Lock()


def as_page(path: bytes, entries: Iterable[tuple[bytes, bool]]) -> DocumentStream:
    """The directory's page. entries: name, and whether that is a directory itself."""
    title = escape(path.decode(errors="replace"))
    head = f"<!doctype html><title>Index of {title}</title>\n<h1>Index of {title}</h1>\n"
    page, size = new_spool(), 0
    with SORTING:
        lines = (
            _link(name + b"/" if is_directory else name) + "\n"
            for name, is_directory in sorted(_bounded(entries))
        )
        for line in chain([head], lines):
            size += page.write(line.encode())
    return DocumentStream(page, size)


def _bounded(entries: Iterable[tuple[bytes, bool]]) -> Iterator[tuple[bytes, bool]]:
    size = 0
    for number, entry in enumerate(entries):
        size += len(entry[0])
        if number >= MOST_ENTRIES or size > MOST_NAME_BYTES:
            return
        yield entry


def type_of(path: str) -> str:
    """The Content-Type by the ending of a name; that of a compressed file is unknown."""
    kind, coding = guess_type(path)
    return "application/octet-stream" if coding or not kind else kind


def _link(name: bytes) -> str:
    """`./` keeps a colon in a name from making a scheme of what stands before it."""
    return f'<p><a href="./{quote_from_bytes(name)}">{escape(name.decode(errors="replace"))}</a>'
