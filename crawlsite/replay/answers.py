"""What the server of the replay answers: WACZ files by token. It sets and reads no cookies, and
what it serves may connect to nothing but itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from django.db import close_old_connections

from crawling.errors import NotFound
from crawling.exports.layout import read
from crawling.wacz.access import wacz_by

StartResponse = Callable[..., Any]
ARCHIVE = "/archive/"
#: of both ends of a range; no file needs more
MOST_DIGITS = 40
#: The player compiles code, styles itself and shows archived pages in frames of its own origin; its
#: service worker is held to the same policy, so nothing that is replayed reaches the live web.
POLICY = "; ".join(
    [
        "default-src 'self' blob: data:",
        "script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval' 'unsafe-inline' blob:",
        "style-src 'self' 'unsafe-inline'",
        "connect-src 'self' blob: data:",
        "form-action 'self'",
        "base-uri 'self'",
        "frame-ancestors 'self'",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def answer_archive(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    """A WACZ file, or the part of it that is asked for, at `/archive/TOKEN/NAME`."""
    path = str(environ.get("PATH_INFO", ""))
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        return _refuse(start_response, HTTPStatus.METHOD_NOT_ALLOWED, "Only GET is answered here.")
    if not path.startswith(ARCHIVE):
        return _refuse(start_response, HTTPStatus.NOT_FOUND, "There is nothing here.")
    close_old_connections()
    try:
        row = wacz_by(path.removeprefix(ARCHIVE).partition("/")[0])
        span = asked_range(str(environ.get("HTTP_RANGE", "")), row.bytes)
        begin, end = span or (0, row.bytes)
        is_wanted = environ["REQUEST_METHOD"] == "GET"
        content: Iterable[bytes] = read(row, begin, end) if is_wanted else ()
    except NotFound as error:
        return _refuse(start_response, HTTPStatus.NOT_FOUND, str(error))
    finally:
        close_old_connections()
    if begin >= end:
        status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
        return _refuse(start_response, status, f"It has {row.bytes} bytes.")
    status = HTTPStatus.PARTIAL_CONTENT if span else HTTPStatus.OK
    about = {
        "Content-Type": "application/wacz",
        "Content-Length": str(end - begin),
        "Accept-Ranges": "bytes",
        "Cache-Control": "no-store",
    }
    if span:
        about["Content-Range"] = f"bytes {begin}-{end - 1}/{row.bytes}"
    start_response(f"{status.value} {status.phrase}", [*about.items(), *HEADERS.items()])
    return content


def asked_range(text: str, size: int) -> tuple[int, int] | None:
    """Begin and end of the one range that a header asks for (RFC 9110, 14.1.2); None: all."""
    unit, _, span = text.partition("=")
    first, dash, last = span.strip().partition("-")
    digits = f"{first}{last}"
    if unit.strip() != "bytes" or not dash or not digits.isdecimal() or len(digits) > MOST_DIGITS:
        return None
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size


def _refuse(start_response: StartResponse, status: HTTPStatus, sentence: str) -> Iterable[bytes]:
    about = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"}
    start_response(f"{status.value} {status.phrase}", [*about.items(), *HEADERS.items()])
    return [f"{sentence}\n".encode()]
