"""A real crawl, with bank, frontier and shifts, over many hosts of a loopback web whose names are 20 to 120 ms away, five ways.

python -m benchmarks.dnscache.crawl [HOSTS [PAGES]]

Of the names 7 % take 600 ms, 3 % do not exist and 2 % are silent. The clock stops when 95 % of the pages are there. "No cache" and
"dnspython's LRU" stand in the place of the thread that resolves the names of a shift; all else is the product.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from threading import Condition, Event, Thread

import dns.exception
from django.conf import settings
from django.db import connections

from allocation.models import OutboxKind
from allocation.services import NewClass, create_pool, mark_sent, unsent_outbox
from benchmarks.database import empty_database
from benchmarks.dnscache.memory import dnspython
from benchmarks.dnscache.setup import name_server
from crawling.access import set_identity
from crawling.jobs import run_shift
from crawling.keeper.duties import start_what_is_due
from crawling.models import AllowedNetwork, CrawlJob, Url
from crawling.processors.visit import Visit
from crawling.services.creating import create_crawl, start_run
from crawling.services.steering import stop
from crawling.shift import turns
from crawling.shift.names import NameThread, host_of
from crawlsite.env import for_child
from dnscache.ahead.beat import living
from dnscache.answers import Status
from dnscache.lookup import Server
from dnscache.resolution import Resolution, Source
from dnscache.resolver import forget
from dnscache.tally import Tally
from tests.stack import test_database_url

FETCH_SECONDS, SLOTS, SHARE = 0.02, 16, 0.95
KINDS = ["web-600"] * 7 + ["nx"] * 3 + ["to"] * 2 + [f"web-{20 + n}" for n in range(88)]


def main() -> None:
    hosts, pages = (int(word) for word in (*sys.argv[1:], "200", "5")[:2])
    with empty_database(), name_server() as server, web() as port:
        settings.DNS_SERVERS = (server,)
        prepare()
        print(f"{hosts} hosts of {pages} pages each: pages/s")
        for label, (ahead, thread) in ways(server).items():
            zone = "".join(filter(str.isalpha, label)).lower()
            print(f"{label:34}{measure(zone, port, server, hosts, pages, ahead, thread):10.1f}", flush=True)


def ways(server: Server) -> dict[str, tuple[str, Callable[..., object]]]:
    """What is resolved ahead, and what resolves the names of a shift."""
    cached, plain = dnspython(server), dnspython(server)
    plain.cache = None
    cached.lifetime = plain.lifetime = 5.0
    return {
        "no cache": ("off", lambda *given: Plain(plain, *given)),
        "dnspython's LRU": ("off", lambda *given: Plain(cached, *given)),
        "ours, nothing ahead": ("off", NameThread),
        "ours, ahead and ungated": ("ungated", NameThread),
        "ours, ahead with the gate": ("gate", NameThread),
    }


class Plain:
    """A pool of threads, as many as there are slots, that ask dnspython for the name of each visit."""

    def __init__(self, theirs: object, deliver: Callable[[Visit], None], slots: Callable[[], int], tally: Tally) -> None:
        self._theirs, self._deliver = theirs, deliver
        self._pool = ThreadPoolExecutor(SLOTS)
        self._slots, self._busy, self._change = slots, 0, Condition()
        self.is_alive = True

    def ask(self, visit: Visit) -> None:
        self._pool.submit(self._resolve, visit)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _resolve(self, visit: Visit) -> None:
        with self._change:
            self._change.wait_for(lambda: self._busy < self._slots())
            self._busy += 1
        self._ask(visit)
        with self._change:
            self._busy -= 1
            self._change.notify()
        self._deliver(visit)

    @property
    def waiting(self) -> int:
        return self._pool._work_queue.qsize()

    def _ask(self, visit: Visit) -> None:
        name = host_of(visit)
        try:
            found = tuple(address.to_text() for address in self._theirs.resolve(name))  # type: ignore[attr-defined]
            visit.resolve(Resolution(name, Status.OK, found, 300, 0, Source.LOOKUP, 0))
        except dns.exception.DNSException as error:
            visit.resolve(Resolution(name, Status.NXDOMAIN, (), 300, 0, Source.LOOKUP, 0, str(error)))


def prepare() -> None:
    classes = [("worker", 4), ("fetch_slots", 64), ("bandwidth", 10**6), ("memory", 4096), ("dns_slots", 4 * SLOTS), ("archive_writers", 4)]
    create_pool(name="default", classes=[NewClass(key, "unit", key, units) for key, units in classes])
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    set_identity("crawlsite", "https://crawls.example.org/about")


def measure(zone: str, port: int, server: Server, hosts: int, pages: int, ahead: str, thread: Callable[..., object]) -> float:
    """Return pages a second from the start until enough are there."""
    forget()
    settings.DNS_AHEAD = ahead
    setattr(turns, "NameThread", thread)  # noqa: B010 - what the shift takes from there
    names = [f"{KINDS[n * 37 % 100]}.h{n}.{zone}.test" for n in range(hosts)]
    wanted = int(SHARE * pages * sum(name.startswith("web") for name in names))
    crawl = create_crawl(
        {
            "name": zone,
            "seeds": [f"http://{name}:{port}/{pages - 1}" for name in names],
            "delay_seconds": 0,
            "archive": False,
            "claim": {"fetch_slots": 32, "dns_slots": SLOTS},
        }
    )
    with resolving_ahead(server, ahead):
        start_run(crawl)
        began, over = time.perf_counter(), Event()
        watcher = Thread(target=watch, args=[crawl, wanted, over])
        watcher.start()
        while not over.is_set():
            for process, epoch in starts():
                run_shift(process, epoch)
        rate = wanted / (watcher_ended[crawl.pk] - began)
        watcher.join()
    return rate


watcher_ended: dict[int, float] = {}


def watch(crawl: CrawlJob, wanted: int, over: Event) -> None:
    """Stop the crawl when enough pages are there."""
    while Url.objects.filter(run__crawl=crawl, state="s").count() < wanted:
        time.sleep(0.05)
    watcher_ended[crawl.pk] = time.perf_counter()
    stop(crawl)
    over.set()
    connections.close_all()


def starts() -> list[tuple[int, int]]:
    """The shifts of the crawl that the bank has granted."""
    start_what_is_due()
    messages = unsent_outbox()
    mark_sent(ids=[message.id for message in messages])
    return [(m.process, m.epoch) for m in messages if m.kind == OutboxKind.START and m.run_ref.startswith("run/") and m.process and m.epoch]


@contextmanager
def resolving_ahead(server: Server, ahead: str) -> Iterator[None]:
    """Run the product's process beside the crawl. It begins with the crawl, and has had no time to get ahead of it."""
    if ahead == "off":
        yield
        return
    env = for_child({"DATABASE_URL": test_database_url(), "DNS_SERVERS": f"{server[0]}:{server[1]}", "LOG_LEVEL": "WARNING"})
    process = subprocess.Popen([sys.executable, "manage.py", "resolve_ahead"], env=env)
    time.sleep(5)  # Django's start is no part of what is measured
    try:
        yield
    finally:
        process.terminate()
        process.wait()
        assert not living().exists()


class Page(BaseHTTPRequestHandler):
    """`/3` leads to `/2`, and so on; there is no robots.txt."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        time.sleep(FETCH_SECONDS)
        number = self.path[1:]
        body = f'{number} {self.headers["Host"]} <a href="/{int(number) - 1}">x</a>' if number.isdigit() and int(number) else number
        self.send_response(200 if number.isdigit() else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@contextmanager
def web() -> Iterator[int]:
    """Serve the pages from a process of their own; yields the port."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()


def _serve(pipe: Connection) -> None:
    ThreadingHTTPServer.request_queue_size = 256
    site = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    pipe.send(site.server_port)
    site.serve_forever()


if __name__ == "__main__":
    main()
