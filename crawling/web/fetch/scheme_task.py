"""What the fetchers of `file:` and `ftp:` share: their task, and a directory as a page of links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from mimetypes import guess_type
from urllib.parse import quote_from_bytes

from crawling.web.addresses import Address


@dataclass(frozen=True, slots=True)
class FetchTask:
    """One fetch."""

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
    #: those that administrators allow
    directories: Sequence[str] = ()
    #: whether everything is to end
    is_cut: Callable[[], bool] = lambda: False


HEADERS = {"Content-Type": "text/html; charset=utf-8"}
#: a directory with more is shown so far
MOST_ENTRIES = 50_000


def as_page(path: bytes, entries: Iterable[tuple[bytes, bool]]) -> bytes:
    """The directory's page. entries: name, and whether that is a directory itself."""
    title = escape(path.decode(errors="replace"))
    lines = [
        _link(name + b"/" if is_directory else name)
        for name, is_directory in sorted(entries)[:MOST_ENTRIES]
    ]
    return "\n".join(
        [
            f"<!doctype html><title>Index of {title}</title>",
            f"<h1>Index of {title}</h1>",
            *lines,
            "",
        ]
    ).encode()


def type_of(path: str) -> str:
    """The Content-Type by the ending of a name; that of a compressed file is unknown."""
    kind, coding = guess_type(path)
    return "application/octet-stream" if coding or not kind else kind


def _link(name: bytes) -> str:
    """`./` keeps a colon in a name from making a scheme of what stands before it."""
    return f'<p><a href="./{quote_from_bytes(name)}">{escape(name.decode(errors="replace"))}</a>'
