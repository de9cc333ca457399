"""A small web on loopback, so that a newcomer sees crawls at work in the first minute, offline: two
made-up sites under one address, as a WSGI application, a library and a shop.

Every page follows from its path alone, so the web is the same each time. It has what real webs
have: a robots.txt, redirects, dead links and pages that take their time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

SHELVES, BOOKS = 15, 12
SLOW_SECONDS = 0.3
ROBOTS = "User-agent: *\nDisallow: /library/staff/\n"
Answer = tuple[str, str, str]
StartResponse = Callable[[str, list[tuple[str, str]]], Any]


def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    status, content_type, body = answer(environ.get("PATH_INFO", "/"))
    headers = [("Content-Type", content_type)]
    if status.startswith("301"):
        headers.append(("Location", body))
    start_response(status, headers)
    return [body.encode()]


def answer(path: str) -> Answer:
    """Return status, content type (the location for a redirect is the body) and body."""
    if path == "/robots.txt":
        return "200 OK", "text/plain", ROBOTS
    if path == "/":
        return page("The demo web", ["/library/", "/shop/"])
    section, _, rest = path.strip("/").partition("/")
    if section in ("library", "shop"):
        return inside(section, rest)
    return "404 Not Found", "text/plain", "Nothing is here."


def inside(section: str, rest: str) -> Answer:
    """The section's front page, a shelf (`3`), a book (`3/7`), or nothing."""
    parts = rest.split("/") if rest else []
    if not parts:
        return page(
            f"The {section}",
            [f"/{section}/{shelf}" for shelf in range(SHELVES)]
            + [f"/{section}/staff/rota", f"/{section}/old"],
        )
    if parts == ["old"]:
        return "301 Moved Permanently", "text/plain", f"/{section}/0"
    if not all(part.isdigit() for part in parts) or int(parts[0]) >= SHELVES or len(parts) > 2:
        return "404 Not Found", "text/plain", "Nothing is here."
    shelf = int(parts[0])
    if len(parts) == 1:
        return page(
            f"Shelf {shelf} of the {section}",
            [f"/{section}/{shelf}/{book}" for book in range(BOOKS)] + [f"/{section}/{shelf}/lost"],
        )
    if int(parts[1]) >= BOOKS:
        return "404 Not Found", "text/plain", "Nothing is here."
    if int(parts[1]) % 5 == 4:
        time.sleep(SLOW_SECONDS)  # real webs have slow pages
    return page(
        f"Book {parts[1]} on shelf {shelf} of the {section}",
        [f"/{section}/", f"/{section}/{(shelf + 1) % SHELVES}/{parts[1]}"],
    )


def page(title: str, links: list[str]) -> Answer:
    items = "".join(f'<li><a href="{escape(link)}">{escape(link)}</a></li>' for link in links)
    return (
        "200 OK",
        "text/html; charset=utf-8",
        "<!doctype html><html "
        f'lang="en"><title>{escape(title)}</title><h1>{escape(title)}</h1><ul>{items}</ul></'
        "html>",
    )
