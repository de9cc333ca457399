"""A real crawl that finds its hosts by links: the names of hosts that come due first are resolved
first, or those that links were found to last (the patent's variant, SEEDS D1).

python -m benchmarks.dnscache.links_first [HOSTS [ROUNDS]]

Each host has one page with links to the next ten hosts; one seed. Names take what those of
`benchmarks.dnscache.crawl` take: 20 to 120 ms, 7 % 600 ms; 3 % do not exist, 2 % are silent.
The name server's limit is 50 look-ups a second, so that names wait in line and their order matters.
The clock stops when 95 % of the pages are there. Rounds alternate the order.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from threading import Event, Thread

from django.conf import settings

from benchmarks.database import empty_database
from benchmarks.dnscache.crawl import (
    FETCH_SECONDS,
    KINDS,
    SHARE,
    prepare,
    resolving_ahead,
    starts,
    watch,
)
from benchmarks.dnscache.server import name_server
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.work.worker.jobs import run_shift
from dnscache.lookup import Server, server_text
from dnscache.models import DnsServer
from dnscache.resolver import forget

LINKS, PER_SECOND = 10, 50
FIRST = {"due": "the earliest due first", "linked": "links found last first"}


def main() -> None:
    hosts, rounds = (int(word) for word in (*sys.argv[1:], *("300", "5")[len(sys.argv) - 1 :]))
    rates: dict[str, list[float]] = {first: [] for first in FIRST}
    with empty_database(), name_server() as server, web(hosts) as port:
        settings.DNS_SERVERS = (server,)
        DnsServer.objects.create(server=server_text(server), per_second=PER_SECOND)
        prepare()
        for number in range(rounds):
            for first in list(FIRST)[:: -1 if number % 2 else 1]:
                rates[first].append(measure(first, f"r{number}{first}", port, server, hosts))
                print(
                    f"round {number + 1}, {FIRST[first]}: {rates[first][-1]:.1f} pages/s",
                    flush=True,
                )
    print(f"{hosts} hosts, {rounds} rounds; load {os.getloadavg()[0]:.1f}")
    for first, told in rates.items():
        print(f"{FIRST[first]:24}{median(told):6.1f} pages/s ({min(told):.1f} to {max(told):.1f})")


def measure(first: str, zone: str, port: int, server: Server, hosts: int) -> float:
    """Crawl once; returns pages a second."""
    forget()
    wanted = int(SHARE * sum(name_of(number, zone).startswith("web") for number in range(hosts)))
    crawl = create_crawl(
        {
            "name": zone,
            "seeds": [f"http://{name_of(0, zone)}:{port}/"],
            "delay_seconds": 0,
            "archive": False,
            "off_site_hops": 100,
            "domain_max_hosts": 100_000,
        }
    )
    with resolving_ahead(server, "gate", first=first):
        began, over = time.perf_counter(), Event()
        ended: list[float] = []
        start_run(crawl)
        watcher = Thread(target=watch, args=[crawl, wanted, over, ended])
        watcher.start()
        while not over.is_set():
            for process, epoch in starts():
                run_shift(process, epoch)
        watcher.join()
    return wanted / (ended[0] - began)


def name_of(number: int, zone: str) -> str:
    return f"{KINDS[number * 37 % 100]}.h{number}.{zone}.test"


class Linked(BaseHTTPRequestHandler):
    """The page of a host, which names the next ones."""

    protocol_version = "HTTP/1.1"
    hosts = 0

    def do_GET(self) -> None:
        time.sleep(FETCH_SECONDS)  # stands for the way to a server on the internet
        host, _, port = self.headers["Host"].partition(":")
        _, label, zone, _ = host.rsplit(".", 3)
        following = range(int(label[1:]) + 1, min(int(label[1:]) + 1 + LINKS, self.hosts))
        links = (f'<a href="http://{name_of(n, zone)}:{port}/">x</a>' for n in following)
        body = f"page of {label}: {' '.join(links)}".encode()
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@contextmanager
def web(hosts: int) -> Iterator[int]:
    """Serve the pages; yields the port."""
    Linked.hosts = hosts
    ThreadingHTTPServer.request_queue_size = 256
    site = ThreadingHTTPServer(("127.0.0.1", 0), Linked)
    Thread(target=site.serve_forever, daemon=True).start()
    try:
        yield site.server_port
    finally:
        site.shutdown()


if __name__ == "__main__":
    main()
