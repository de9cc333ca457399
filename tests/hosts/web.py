"""`python -m tests.hosts.web PAGES LOG`: a web server on all addresses of its host. Each address is
a site, whose first page leads to PAGES more. The log has a line of JSON for each request.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

PORT = 80
ROBOTS = "/robots.txt"


class Request(NamedTuple):
    """site, client: addresses; at: when it came, by the clock that all hosts of a machine share."""

    site: str
    path: str
    client: str
    at: float


class Sites(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, pages: int, log: Path) -> None:
        super().__init__(("", PORT), Answer)
        links = "".join(f'<a href="/{number}">{number}</a>' for number in range(pages))
        self.first, self.lock, self.log = f"<title>first</title>{links}", threading.Lock(), log

    def note(self, request: Request) -> None:
        with self.lock, self.log.open("a") as log:
            log.write(json.dumps(request) + "\n")


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Sites

    def do_GET(self) -> None:
        site = self.connection.getsockname()[0]
        self.server.note(Request(site, self.path, self.client_address[0], time.monotonic()))
        page = self.server.first if self.path == "/" else f"<title>{site}{self.path}</title>a page"
        body = b"" if self.path == ROBOTS else page.encode()
        self.send_response(404 if self.path == ROBOTS else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The log is our own."""


def read_log(log: Path) -> list[Request]:
    """The requests so far, without a line that is just being written."""
    whole, _, _ = log.read_text().rpartition("\n") if log.exists() else ("", "", "")
    return [Request(*json.loads(line)) for line in whole.splitlines()]


if __name__ == "__main__":
    Sites(int(sys.argv[1]), Path(sys.argv[2])).serve_forever()
