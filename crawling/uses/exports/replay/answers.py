"""The answers of the replay server. The site's own origin has the page with the player's frame. The
origin of a run has the player and its service worker, and for browsers with a grant the WACZ file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from django.db import close_old_connections

from crawling.archive.packages.reading import read_package
from crawling.base.errors import NotFound
from crawling.uses.exports.run_export import RunExport
from crawling.uses.exports.wacz.access import GRANT_LASTS, export_of_grant, redeem
from crawling.uses.exports.wacz.origins import (
    ALLOWS,
    SANDBOX,
    STYLE,
    frame_headers,
    origin_of,
    origin_of_frame,
    player_headers,
    player_policy,
    requested_run,
)

StartResponse = Callable[..., Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]
OPEN = "/open/"
ARCHIVE = "/archive/"
COOKIE = "replay"
GUARD = Path(__file__).with_name("guard.js")
#: the path of our own service worker, and that of the player's service worker, which it loads
SERVICE_WORKER, RELEASED = "/sw.js", "/released-sw.js"
FRAME = re.compile(r"/run/([1-9][0-9]{0,18})/([a-z0-9-]{1,80}\.wacz)")
#: the most digits of either end of a range; no file needs as many
MOST_DIGITS = 40
ONLY_GET = "Only GET is answered here."
NOTHING = "There is nothing here."
#: the browsers that obey `Connection-Allowlist`, and their first version that does
ENGINE = re.compile(r"Chrom(?:e|ium)/([0-9]{1,4})\.")
SINCE = 152
WARNING = (
    "<p>This browser does not keep scripts of stored pages from sending what they read to their "
    "author by WebRTC. To open pages that you do not trust, use Chrome, Chromium or Edge "
    f"{SINCE} or newer.</p>\n"
)
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style>
{warning}<iframe sandbox="{sandbox}" title="ReplayWeb.page" src="{source}"></iframe></html>
"""


def with_player(files: Application) -> Application:
    """The replay server as an application. files: serves the unchanged files of ReplayWeb.page."""

    def answer(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        run = requested_run(str(environ.get("HTTP_HOST", "")))
        if run is None:
            origin = origin_of_frame()
            sentence = f"The replay is at {origin}; the proxy has to pass on the host asked for."
            return _refuse(start_response, HTTPStatus.MISDIRECTED_REQUEST, sentence)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _refuse(start_response, HTTPStatus.METHOD_NOT_ALLOWED, ONLY_GET)
        content = (
            _on_origin_of_run(run, files, environ, start_response)
            if run
            else _frame(environ, start_response)
        )
        return content if environ["REQUEST_METHOD"] == "GET" else ()

    return answer


def _on_origin_of_run(
    run: int, files: Application, environ: dict[str, Any], start_response: StartResponse
) -> Iterable[bytes]:
    path = str(environ.get("PATH_INFO", ""))
    if path.startswith(OPEN):
        return _redeem_ticket(run, environ, start_response)
    if environ.get("HTTP_SEC_FETCH_DEST") == "document":
        # outside of the frame a script could lead the window to another site
        sentence = "Open the replay from the dashboard."
        return _refuse(start_response, HTTPStatus.FORBIDDEN, sentence)
    if path == SERVICE_WORKER:
        script = Template(GUARD.read_text()).substitute(POLICY=player_policy(), ALLOWS=ALLOWS)
        return _send(start_response, "text/javascript; charset=utf-8", script.encode())
    if path == RELEASED:
        # without our policy the service worker would set one that permits more
        if "HTTP_SERVICE_WORKER" in environ:
            sentence = f"The service worker is {SERVICE_WORKER}."
            return _refuse(start_response, HTTPStatus.FORBIDDEN, sentence)
        environ = {**environ, "PATH_INFO": SERVICE_WORKER}
    elif path.startswith(ARCHIVE):
        return _archive(run, environ, start_response)
    return files(environ, start_response)


def answer_nothing(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    """The answer for paths that ReplayWeb.page does not have."""
    return _refuse(start_response, HTTPStatus.NOT_FOUND, NOTHING)


def _frame(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    """The page with the player in a frame. The frame can navigate only itself."""
    found = FRAME.fullmatch(str(environ.get("PATH_INFO", "")))
    if found is None:
        return _refuse(start_response, HTTPStatus.NOT_FOUND, NOTHING)
    run, name = int(found[1]), found[2]
    origin, asked = origin_of(run), parse_qs(str(environ.get("QUERY_STRING", "")))
    source = quote(f"{origin}{ARCHIVE}{run}/{name}", safe="")
    shown = {"view": "pages"} | {key: asked[key][0] for key in ("url", "ts") if key in asked}
    page = PAGE.format(
        title=escape(f"Replay of {name.removesuffix('.wacz')}"),
        style=STYLE,
        warning="" if _is_held(environ) else WARNING,
        sandbox=SANDBOX,
        source=escape(f"{origin}/?source={source}#{urlencode(shown)}"),
    )
    return _send(start_response, "text/html; charset=utf-8", page.encode(), frame_headers(run))


def _is_held(environ: dict[str, Any]) -> bool:
    """Whether the browser keeps documents from opening connections that are no requests, such as
    WebRTC.
    """
    found = ENGINE.search(str(environ.get("HTTP_USER_AGENT", "")))
    return found is not None and int(found[1]) >= SINCE


def _redeem_ticket(
    run: int, environ: dict[str, Any], start_response: StartResponse
) -> Iterable[bytes]:
    """Exchange the ticket in `/open/TICKET` for a cookie, and redirect to the page with the
    frame.
    """
    if environ["REQUEST_METHOD"] != "GET":
        return _refuse(start_response, HTTPStatus.METHOD_NOT_ALLOWED, ONLY_GET)
    close_old_connections()
    try:
        granted, export = redeem(str(environ["PATH_INFO"]).removeprefix(OPEN))
        if export.run.pk != run:
            raise NotFound(NOTHING)
    except NotFound as error:
        return _refuse(start_response, HTTPStatus.NOT_FOUND, str(error))
    finally:
        close_old_connections()
    query = environ["QUERY_STRING"]
    name = f"crawl-{export.run.crawl_id}-run-{export.run.number}.wacz"
    lasts = int(GRANT_LASTS.total_seconds())
    cookie = f"{COOKIE}={granted}; Path={ARCHIVE}{run}/; Max-Age={lasts}; HttpOnly; SameSite=Strict"
    about = {
        "Location": f"{origin_of_frame()}/run/{run}/{name}{'?' if query else ''}{query}",
        "Set-Cookie": cookie + ("; Secure" if origin_of_frame().startswith("https:") else ""),
        # clear what the browser has stored: cached pages that were withdrawn since, and data of
        # scripts
        "Clear-Site-Data": '"storage"',
        "Cache-Control": "no-store",
    }
    start_response("303 See Other", [*about.items(), *player_headers().items()])
    return []


def _archive(run: int, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    """The WACZ file, or the requested part of it, at `/archive/RUN/NAME`."""
    close_old_connections()
    try:
        export = _export_by_cookie(run, str(environ.get("HTTP_COOKIE", "")))
        span = requested_range(str(environ.get("HTTP_RANGE", "")), export.bytes)
        begin, end = span or (0, export.bytes)
        is_wanted = environ["REQUEST_METHOD"] == "GET"
        content: Iterable[bytes] = read_package(export, begin, end) if is_wanted else ()
    except NotFound as error:
        return _refuse(start_response, HTTPStatus.NOT_FOUND, str(error))
    finally:
        close_old_connections()
    if begin >= end:
        status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
        return _refuse(start_response, status, f"It has {export.bytes} bytes.")
    status = HTTPStatus.PARTIAL_CONTENT if span else HTTPStatus.OK
    about = {
        "Content-Type": "application/wacz",
        "Content-Length": str(end - begin),
        "Accept-Ranges": "bytes",
        "Cache-Control": "no-store",
    }
    if span:
        about["Content-Range"] = f"bytes {begin}-{end - 1}/{export.bytes}"
    start_response(f"{status.value} {status.phrase}", [*about.items(), *player_headers().items()])
    return content


def _export_by_cookie(run: int, cookies: str) -> RunExport:
    """The file of the grant in the cookie, if it is a file of this run. Raises NotFound."""
    try:
        found = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        found = None
    export = export_of_grant(found.value if found else "")
    if export.run.pk != run:
        raise NotFound(NOTHING)
    return export


def requested_range(text: str, size: int) -> tuple[int, int] | None:
    """The first and the last byte of the only range in a header (RFC 9110, 14.1.2). None for the
    whole file.
    """
    unit, _, span = text.partition("=")
    first, dash, last = span.strip().partition("-")
    digits = f"{first}{last}"
    if unit.strip() != "bytes" or not dash or not digits.isdecimal() or len(digits) > MOST_DIGITS:
        return None
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size


def _send(
    start_response: StartResponse,
    kind: str,
    content: bytes,
    headers: Mapping[str, str] | None = None,
) -> Iterable[bytes]:
    about = {"Content-Type": kind, "Content-Length": str(len(content)), "Cache-Control": "no-store"}
    start_response("200 OK", [*about.items(), *(headers or player_headers()).items()])
    return [content]


def _refuse(start_response: StartResponse, status: HTTPStatus, sentence: str) -> Iterable[bytes]:
    about = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"}
    start_response(f"{status.value} {status.phrase}", [*about.items(), *player_headers().items()])
    return [f"{sentence}\n".encode()]
