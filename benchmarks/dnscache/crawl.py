"""A real crawl, with pool, frontier and shifts, over many hosts of a loopback web whose names are
20 to 120 ms away, five ways.

python -m benchmarks.dnscache.crawl [HOSTS [PAGES [ROUNDS]]]

Of the names 7 % take 600 ms, 3 % do not exist and 2 % are silent. The pool is that of a new
installation on two cores, and the crawl claims what crawls usually do: 8 fetch threads. The clock
stops when 95 % of the pages are there. "No cache" and "dnspython's LRU" are what crawlers without a
design for DNS do: the thread that fetches asks for the name first. All else is the product. Rounds
alternate the order; told are medians, with processor time a page of the shift and of the process
that resolves ahead.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from statistics import median
from threading import Event, Thread

import dns.exception
import psutil
from django.conf import settings
from django.db import connection, connections
from dns.resolver import Resolver as DnspythonResolver

from allocation.models import OutboxKind
from allocation.services import create_pool, mark_sent, unsent_outbox
from benchmarks.dnscache.memory import dnspython
from benchmarks.dnscache.server import name_server
from benchmarks.scene.database import empty_database
from benchmarks.waiting import await_change
from crawling.base.errors import WrongState
from crawling.frontier import UrlOutcome
from crawling.installation.default_pool import default_classes
from crawling.installation.identity import set_identity
from crawling.models import AllowedNetwork, CrawlJob, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import stop
from crawling.scheduler.duties import start_due_crawls
from crawling.work.pipeline.context import FetchContext
from crawling.work.pipeline.stages import UnreadAnswer, step
from crawling.work.pipeline.visit import Visit
from crawling.work.preresolver.slots import SEAT_LOCK
from crawling.work.shift import fetch_threads, host_names
from crawling.work.shift.name_thread import NameThread, host_of
from crawling.work.worker.jobs import run_shift
from crawlsite.env import for_child
from dnscache.lookup import Server
from dnscache.lookup_counter import LookupCounter
from dnscache.preresolver.preresolver import RAMP_SECONDS, living
from dnscache.protocol.answers import DnsStatus
from dnscache.resolution import AnswerSource, Resolution
from dnscache.resolver import forget
from tests.stack import test_database_url

FETCH_SECONDS, SHARE, CORES = 0.02, 0.95, 2
#: of one crawl, and until the process that resolves ahead is there; the benchmark ends with it
LIMIT_SECONDS, START_SECONDS = 900.0, 60.0
KINDS = ["web-600"] * 7 + ["nx"] * 3 + ["to"] * 2 + [f"web-{20 + n}" for n in range(88)]


@dataclass(frozen=True)
class Way:
    """How names are come by: what is resolved ahead, and which dnspython the fetch threads ask, if
    they do."""

    label: str
    ahead: str
    theirs: DnspythonResolver | None = None


@dataclass(frozen=True)
class Figures:
    pages_a_second: float
    cpu_ms_a_page: float


def main() -> None:
    hosts, pages, rounds = (
        int(word) for word in (*sys.argv[1:], *("300", "1", "3")[len(sys.argv) - 1 :])
    )
    with empty_database(), name_server() as server, web() as port:
        settings.DNS_SERVERS = (server,)
        prepare()
        told: dict[str, list[Figures]] = {}
        for number in range(rounds):
            every = ways(server)
            for way in every[number % len(every) :] + every[: number % len(every)]:
                figures = measure(way, f"r{number}", port, server, hosts, pages)
                told.setdefault(way.label, []).append(figures)
                print(
                    f"round {number + 1}, {way.label}: {figures.pages_a_second:.1f} pages/s",
                    flush=True,
                )
        print(
            f"{hosts} hosts of {pages} pages each, {rounds} rounds; load {os.getloadavg()[0]:.1f}"
        )
        for way in ways(server):
            rates = [figures.pages_a_second for figures in told[way.label]]
            cpu = median(figures.cpu_ms_a_page for figures in told[way.label])
            print(
                f"{way.label:34}{median(rates):8.1f} pages/s ({min(rates):.1f} to "
                f"{max(rates):.1f}){cpu:8.1f} ms of processor a page"
            )


def ways(server: Server) -> list[Way]:
    cached, plain = dnspython(server), dnspython(server)
    plain.cache = None
    return [
        Way("no cache", "off", plain),
        Way("dnspython's LRU", "off", cached),
        Way("ours, nothing ahead", "off"),
        Way("ours, ahead and ungated", "ungated"),
        Way("ours, ahead with the gate", "gate"),
    ]


class NobodyAsks:
    """In the place of the thread that resolves names: hosts go straight to the fetch threads."""

    waiting, under_way, is_alive = 0, 0, True

    def __init__(self, deliver: Callable[[Visit], None], slots: Callable[[], int]) -> None:
        self._deliver, self.counter = deliver, LookupCounter()

    def ask(self, visit: Visit) -> None:
        visit.route.resolve(
            Resolution(host_of(visit), DnsStatus.OK, (), 300, 0, AnswerSource.LOOKUP, 0)
        )
        self._deliver(visit)

    def close(self) -> None:
        """Nothing is under way."""


def asking_first(
    theirs: DnspythonResolver,
) -> Callable[[Visit, FetchContext], UnreadAnswer | UrlOutcome | None]:
    """What a fetch thread does that asks for the name of each fetch itself."""

    def ask_and_step(visit: Visit, context: FetchContext) -> UnreadAnswer | UrlOutcome | None:
        name = host_of(visit)
        try:
            found = tuple(address.to_text() for address in theirs.resolve(name))
            visit.route.resolve(
                Resolution(name, DnsStatus.OK, found, 300, 0, AnswerSource.LOOKUP, 0)
            )
        except dns.exception.DNSException as error:
            visit.route.resolve(
                Resolution(name, DnsStatus.NXDOMAIN, (), 300, 0, AnswerSource.LOOKUP, 0, str(error))
            )
        return step(visit, context)

    return ask_and_step


def prepare() -> None:
    create_pool(name="default", classes=default_classes(4, cores=CORES))
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    set_identity("crawlsite", "https://crawls.example.org/about")


def measure(way: Way, zone: str, port: int, server: Server, hosts: int, pages: int) -> Figures:
    """Crawl once, from the start until enough pages are there."""
    forget()
    settings.DNS_AHEAD = way.ahead
    # what the shift takes from there
    setattr(host_names, "NameThread", NobodyAsks if way.theirs else NameThread)  # noqa: B010
    setattr(fetch_threads, "step", asking_first(way.theirs) if way.theirs else step)  # noqa: B010
    zone = f"{zone}{''.join(filter(str.isalpha, way.label)).lower()}"
    names = [f"{KINDS[n * 37 % 100]}.h{n}.{zone}.test" for n in range(hosts)]
    wanted = int(SHARE * pages * sum(name.startswith("web") for name in names))
    seeds = [f"http://{name}:{port}/{pages - 1}" for name in names]
    crawl = create_crawl({"name": zone, "seeds": seeds, "delay_seconds": 0, "archive": False})
    with resolving_ahead(server, way.ahead) as busy:
        began, cpu, over = time.perf_counter(), time.process_time() + busy(), Event()
        ended: list[float] = []
        start_run(crawl)
        watcher = Thread(target=watch, args=[crawl, wanted, over, ended])
        watcher.start()
        while not over.is_set():
            for process, epoch in starts():
                run_shift(process, epoch)
        watcher.join()
        cpu = time.process_time() + busy() - cpu
    if not ended:
        raise SystemExit(f"{way.label}: fewer than {wanted} pages after {LIMIT_SECONDS:.0f} s")
    return Figures(wanted / (ended[0] - began), 1000 * cpu / wanted)


def watch(crawl: CrawlJob, wanted: int, over: Event, ended: list[float]) -> None:
    """Stop the crawl when enough pages are there, and say when that was; or when it takes too
    long.
    """
    pages = Url.objects.filter(run__crawl=crawl, state="s")
    with suppress(SystemExit):  # the caller tells what is missing
        # the end is known to 50 ms of some ten seconds
        await_change(lambda: pages.count() >= wanted, "Pages are missing.", seconds=LIMIT_SECONDS)
        ended.append(time.perf_counter())
    with suppress(WrongState):  # it may have finished meanwhile
        stop(crawl)
    over.set()
    connections.close_all()


def starts() -> list[tuple[int, int]]:
    """The shifts of the crawl that the pool has granted."""
    start_due_crawls()
    messages = unsent_outbox()
    mark_sent(ids=[message.id for message in messages])
    return [
        (m.process, m.epoch)
        for m in messages
        if m.kind == OutboxKind.START and m.run_ref.startswith("run/") and m.process and m.epoch
    ]


@contextmanager
def resolving_ahead(
    server: Server, ahead: str, *, first: str = "due"
) -> Iterator[Callable[[], float]]:
    """Run the product's process beside the crawl, as if it had been there for long; yields what
    tells its processor time.
    """
    if ahead == "off":
        yield lambda: 0.0
        return
    env = for_child(
        {
            "DATABASE_URL": test_database_url(),
            "DNS_SERVERS": f"{server[0]}:{server[1]}",
            "DNS_AHEAD_FIRST": first,
            "LOG_LEVEL": "WARNING",
        }
    )
    process = subprocess.Popen([sys.executable, "manage.py", "resolve_ahead"], env=env)
    try:
        await_change(is_seated, "The pre-resolver does not begin.", seconds=START_SECONDS)
        # by design it asks more and more for so long; what is compared is its full rate
        time.sleep(RAMP_SECONDS)
        yield lambda: sum(psutil.Process(process.pid).cpu_times()[:2])
    finally:
        process.terminate()
        process.wait()
        assert not living().exists()


def is_seated() -> bool:
    """Whether the process that resolves ahead is at work."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s)",
            [SEAT_LOCK],
        )
        return bool(cursor.fetchone()[0])


class Page(BaseHTTPRequestHandler):
    """`/3` leads to `/2`, and so on; there is no robots.txt."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        time.sleep(FETCH_SECONDS)  # stands for the way to a server on the internet
        number = self.path[1:]
        body = (
            f'{number} {self.headers["Host"]} <a href="/{int(number) - 1}">x</a>'
            if number.isdigit() and int(number)
            else number
        )
        self.send_response(200 if number.isdigit() else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """It is not read."""


@contextmanager
def web() -> Iterator[int]:
    """Serve the pages from a process of their own; yields the port."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(theirs,), daemon=True
    )
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
