"""A small web on loopback for the time of an experiment: page n is the same, and takes as long,
every time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from crawling.experiments.workload import PAGES

HOST = "127.0.0.1"


def seconds_of(page: int) -> float:
    """The server's time for a page: 100 to 219 ms, spread evenly over the pages."""
    return 0.1 + 0.001 * (37 * page % 120)


def page_of(page: int) -> bytes:
    links = "".join(
        f'<li><a href="/{(page * step + 1) % PAGES}">{(page * step + 1) % PAGES}</a></li>'
        for step in range(2, 12)
    )
    return (
        f'<!doctype html><html lang="en"><title>Page {page}</title><h1>Page '
        f"{page}</h1><ul>{links}</ul></html>".encode()
    )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave in one packet; two would wait for the client's delayed ACK
    timeout = 5  # an unused connection must not keep its thread

    def do_GET(self) -> None:
        name = self.path.removeprefix("/")
        is_page = name.isascii() and name.isdigit() and int(name) < PAGES
        body = page_of(int(name)) if is_page else b"Nothing is here."
        if is_page:
            time.sleep(seconds_of(int(name)))  # what a real server and the way to it would take
        self.send_response(200 if is_page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8" if is_page else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the experiment's rows have the number of pages."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # clients keep connections alive
    request_queue_size = 128


@contextmanager
def serve_web() -> Iterator[str]:
    """Serve the pages on a free port of loopback until the block ends, and yield the address,
    without a slash at its end.
    """
    server = _Server((HOST, 0), _Handler)
    thread = threading.Thread(
        target=server.serve_forever,
        kwargs={"poll_interval": 0.05},
        name="experiment web",
        daemon=True,
    )
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
