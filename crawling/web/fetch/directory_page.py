"""A directory as a page of links, which is how documents of every kind are read on."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from urllib.parse import quote_from_bytes

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


def _link(name: bytes) -> str:
    """`./` keeps a colon in a name from making a scheme of what stands before it."""
    return f'<p><a href="./{quote_from_bytes(name)}">{escape(name.decode(errors="replace"))}</a>'
