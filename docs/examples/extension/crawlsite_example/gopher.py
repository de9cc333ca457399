"""Gopher (RFC 1436; addresses by RFC 4266): menus as pages of links, and documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from html import escape
from urllib.parse import quote, unquote_to_bytes

from crawling.web.document_stream import DocumentStream, new_spool
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.scheme_task import FetchTask
from crawling.web.fetch.tcp_connection import TcpConnection, fetch_by_dialogue

DEFAULT_PORT = 70
MENU, TEXT, PAGE, ERROR = "1", "0", "h", "3"
TYPES = {TEXT: "text/plain", PAGE: "text/html", "g": "image/gif", "I": "image/*"}
#: items of a menu that are addresses; telnet sessions, searches and plain lines are not
FETCHED = frozenset("014569gIhs")
LONGEST_LINE = 4096
MOST_ITEMS = 50_000


def fetch(task: FetchTask) -> Fetched:
    """Ask for the item that an address names: its type, and its selector."""
    path = task.address.target
    kind, selector = (path[1:2] or MENU), unquote_to_bytes(path[2:])
    if any(sign in selector for sign in b"\t\r\n"):
        return Fetched(400, error="The address has signs that no selector of Gopher has.")

    def ask(connection: TcpConnection) -> Fetched:
        connection.send(selector + b"\r\n")
        answer = connection.receive_rest()
        if kind != MENU:
            return Fetched(
                200, {"Content-Type": TYPES.get(kind, "application/octet-stream")}, answer
            )
        with closing(answer):
            return _page(task, answer)

    return fetch_by_dialogue(task, ask)


def _page(task: FetchTask, menu: DocumentStream) -> Fetched:
    """The menu as HTML, whose links the crawler reads as of any page."""
    title = escape(task.address.url)
    page, size = new_spool(), 0
    page_head = f"<!doctype html><title>{title}</title>\n"
    for number, line in enumerate(_lines(menu)):
        kind, (label, *rest) = line[:1], line[1:].split("\t")
        if number == 0 and kind == ERROR:
            page.close()
            return Fetched(404, error=f"The server says: {label[:200]}")
        size += page.write((page_head + _entry(kind, label, rest)).encode())
        page_head = ""
    return Fetched(200, {"Content-Type": "text/html; charset=utf-8"}, DocumentStream(page, size))


def _lines(menu: DocumentStream) -> Iterator[str]:
    menu.content.seek(0)
    for _ in range(MOST_ITEMS):
        line = menu.content.readline(LONGEST_LINE).decode("utf-8", "replace")
        if not line or line.rstrip("\r\n") == ".":
            return
        yield line.rstrip("\r\n")


def _entry(kind: str, label: str, rest: list[str]) -> str:
    """A line of the page: a link if the item is an address."""
    if len(rest) < 3 or kind not in FETCHED:
        return f"<p>{escape(label)}\n"
    selector, host, port = rest[:3]
    if kind == PAGE and selector.startswith("URL:"):
        address = selector.removeprefix("URL:")
    else:
        address = f"gopher://{host}:{port}/{kind}{quote(selector)}"
    return f'<p><a href="{escape(address)}">{escape(label)}</a>\n'
