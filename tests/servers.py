"""A real web server on loopback for tests: pages from a dictionary, every request and connection
kept.
"""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pytest


@dataclass(frozen=True)
class Request:
    """One line of a site's log; `at` is monotonic seconds."""

    at: float
    host: str
    path: str
    user_agent: str
    method: str
    headers: Mapping[str, str]
    body: bytes = b""


Reply = tuple[int, Mapping[str, str], bytes | str]
Page = Reply | Callable[[Request], Reply] | bytes | str


@dataclass
class Site:
    """Pages by path (with its query, else without) and the log of requests.

    A page is (status, headers, body), a body alone (200, text/html), or a function of the request
    that returns one of these. Pages may be added while the site runs. The host's name in a request
    is ignored: read `request.host` for it.
    """

    pages: dict[str, Page]
    address: str
    port: int = 0
    scheme: str = "http"
    log: list[Request] = field(default_factory=list)
    #: (monotonic seconds, the client's address) of each accepted connection
    connections: list[tuple[float, tuple[str, int]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.address}:{self.port}"

    @property
    def paths(self) -> list[str]:
        """The requested paths, the oldest first, without robots.txt."""
        return [request.path for request in self.log if request.path != "/robots.txt"]

    def reply(self, request: Request) -> Reply:
        page = self.pages.get(request.path, self.pages.get(request.path.partition("?")[0]))
        if page is None:
            return 404, {"Content-Type": "text/plain"}, "not here"
        if callable(page):
            return page(request)
        return (
            page
            if isinstance(page, tuple)
            else (200, {"Content-Type": "text/html; charset=utf-8"}, page)
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, site: Site, tls: ssl.SSLContext | None) -> None:
        self.site, self.tls, self.open_sockets, self.lock = (
            site,
            tls,
            set[socket.socket](),
            threading.Lock(),
        )
        super().__init__((site.address, site.port), _Handler)
        site.port = self.server_address[1]

    def get_request(self) -> tuple[socket.socket, tuple[str, int]]:
        connection, peer = super().get_request()
        self.site.connections.append((time.monotonic(), peer))
        if self.tls:
            connection.settimeout(5)
            # The handshake waits for the handler's thread: a client that sends nothing must not
            # stop the others.
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        with self.lock:
            self.open_sockets.add(connection)
        return connection, peer

    def shutdown_request(self, request: socket.socket) -> None:
        with self.lock:
            self.open_sockets.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep alive, so that their threads end too."""
        with self.lock:
            for connection in self.open_sockets:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:  # the client closed first
                    continue

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: clients that close the connection or refuse a certificate are part of the
        tests.
        """


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # head and body are sent in one packet; two packets would wait for the client's delayed ACK
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        site = cast(_Server, self.server).site
        request = Request(
            time.monotonic(),
            self.headers.get("Host", ""),
            self.path,
            self.headers.get("User-Agent", ""),
            self.command,
            dict(self.headers.items()),
            self.rfile.read(int(self.headers.get("Content-Length") or 0)),
        )
        site.log.append(request)
        status, headers, body = site.reply(request)
        content = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean; `Site.log` has every request."""


@contextmanager
def serve_site(
    pages: Mapping[str, Page],
    *,
    address: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> Iterator[Site]:
    """Serve `pages` on `address` until the block ends."""
    site = Site(dict(pages), address, port, "https" if tls else "http")
    server = _Server(site, tls)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.hang_up()
        server.server_close()


def require_openssl() -> None:
    """Skip the test, with a clear message, if no certificate can be made; CI must never skip it."""
    if not shutil.which("openssl"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "no `openssl` command to make a certificate with: HTTPS is NOT tested"
        )


def make_certificate(directory: Path, *names: str) -> Path:
    """Make a self-signed certificate, with its key in the same file; it serves as its own
    authority. Needs `openssl`.
    """
    path = directory / f"{names[0]}.pem"
    key = directory / f"{names[0]}.key"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    options = [
        "-subj",
        f"/CN={names[0]}",
        "-addext",
        "subjectAltName=" + ",".join(f"DNS:{name}" for name in names),
    ]
    subprocess.run(
        [*command, *options, "-keyout", key, "-out", path], check=True, capture_output=True
    )
    path.write_bytes(path.read_bytes() + key.read_bytes())
    return path


def tls_context(certificate: Path) -> ssl.SSLContext:
    """Return the argument for `serve_site(tls=…)`."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context
