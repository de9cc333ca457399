"""Small webs on loopback that an experiment serves while it runs: page n is the same, and takes the
same time, every time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from experiments.crawl_workload import PlannedSite
from experiments.workload import PAGES

HOST = "127.0.0.1"
HTML, PDF, TEXT = "text/html; charset=utf-8", "application/pdf", "text/plain"


class SyntheticPage(NamedTuple):
    """The answer for a path, and the delay before it in seconds."""

    status: int
    content_type: str
    body: bytes
    seconds: float = 0.0


NOTHING = SyntheticPage(404, TEXT, b"Nothing is here.")


def seconds_of(page: int) -> float:
    """The server's delay for a page: 100 to 219 ms, spread evenly over the pages."""
    return 0.1 + 0.001 * (37 * page % 120)


def page_of(page: int) -> bytes:
    return _html_page(page, [f"/{(page * step + 1) % PAGES}" for step in range(2, 12)])


def _html_page(page: int, addresses: list[str]) -> bytes:
    links = "".join(f'<li><a href="{one}">{one[1:]}</a></li>' for one in addresses)
    return (
        f'<!doctype html><html lang="en"><title>Page {page}</title><h1>Page '
        f"{page}</h1><ul>{links}</ul></html>".encode()
    )


def pdf_of(page: int) -> bytes:
    """A PDF of one page with a line of text."""
    line = f"BT /F1 12 Tf 20 100 Td (Page {page}) Tj ET".encode()
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(line), line),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    body, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (len(objects) + 1, table, len(objects) + 1, len(body))
    )


def _shared_page(path: str) -> SyntheticPage:
    """A page of the web that all threads of an experiment fetch from."""
    name = path.removeprefix("/")
    if not (name.isascii() and name.isdigit() and int(name) < PAGES):
        return NOTHING
    return SyntheticPage(200, HTML, page_of(int(name)), seconds_of(int(name)))


def page_of_site(site: PlannedSite, path: str) -> SyntheticPage:
    """A page of one crawl's site: its front page links to all others."""
    names = {
        number: f"/{number}{'.pdf' * (number in site.pdfs)}" for number in range(1, site.pages + 1)
    }
    if path == "/":
        return SyntheticPage(200, HTML, _html_page(0, list(names.values())), seconds_of(0))
    number = next((number for number, name in names.items() if name == path), None)
    if number is None:
        return NOTHING
    is_pdf = number in site.pdfs
    body = pdf_of(number) if is_pdf else _html_page(number, ["/"])
    return SyntheticPage(200, PDF if is_pdf else HTML, body, seconds_of(number))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # head and body are sent in one packet; two packets would wait for the client's delayed ACK
    wbufsize = -1
    timeout = 5  # an unused connection must not keep its thread
    server: _Server

    def do_GET(self) -> None:
        page = self.server.answer(self.path)
        time.sleep(page.seconds)  # the delay stands for a real server and the network to it
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        self.wfile.write(page.body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the experiment's rows have the number of pages."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # clients keep connections open
    request_queue_size = 128

    def __init__(self, answer: Callable[[str], SyntheticPage]) -> None:
        self.answer = answer
        super().__init__((HOST, 0), _Handler)


@contextmanager
def serve_web(answer: Callable[[str], SyntheticPage] = _shared_page) -> Iterator[str]:
    """Serve the pages on a free port of loopback until the block ends, and yield the address,
    without a slash at its end.
    """
    server = _Server(answer)
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


@contextmanager
def serve_sites(sites: Sequence[PlannedSite]) -> Iterator[dict[int, str]]:
    """Serve each site on a port of its own, since crawls take turns at a host; yield the sites'
    addresses by number.
    """
    with ExitStack() as served:
        yield {
            site.number: served.enter_context(serve_web(partial(page_of_site, site)))
            for site in sites
        }
