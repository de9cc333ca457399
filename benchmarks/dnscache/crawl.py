"""A real crawl, with pool, frontier and shifts, over many hosts of a loopback web whose names are
20 to 120 ms away, five ways.

python -m benchmarks.dnscache.crawl [--hosts 300] [--pages 1] [--rounds 3]

Of the names 7 % take 600 ms, 3 % do not exist and 2 % are silent. The pool is that of a new
installation on two cores, and the crawl claims what crawls usually do: 8 fetch threads. The clock
stops when 95 % of the pages are there. "No cache" and "dnspython's LRU" are what crawlers without a
design for DNS do: the thread that fetches asks for the name first. All else is the product. Rounds
alternate the order; told are medians, with processor time a page of the shift and of the process
that resolves ahead.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import getloadavg
from statistics import median
from threading import Event, Thread
from typing import NamedTuple

import dns.exception
from django.conf import settings
from django.db import connections
from dns.resolver import Resolver as DnspythonResolver

from benchmarks.dnscache.costs import dnspython
from benchmarks.dnscache.server import name_server
from benchmarks.report import Table, options
from benchmarks.scene.crawls import begin_crawl, granted_shifts, make_ready
from benchmarks.scene.database import empty_database, query_rows
from benchmarks.scene.product import program
from benchmarks.scene.sites import Asked, reply, served
from benchmarks.timer import await_change, in_turn, seconds_of
from crawling.base.errors import WrongState
from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.stages import UnreadAnswer, step
from crawling.fetching.pipeline.visit import Visit
from crawling.fetching.preresolver.slots import SEAT_LOCK
from crawling.fetching.shift import fetch_threads, name_thread
from crawling.fetching.shift.name_thread import NameThread, host_of
from crawling.fetching.worker.jobs import run_shift
from crawling.frontier import UrlOutcome
from crawling.installation.pools import default_classes
from crawling.models import CrawlJob, Url
from crawling.runs.steering import stop
from dnscache.lookup import Server
from dnscache.lookup_counter import LookupCounter
from dnscache.preresolver.preresolver import RAMP_SECONDS, live_pre_resolvers
from dnscache.protocol.answers import DnsStatus
from dnscache.resolution import AnswerSource, Resolution
from dnscache.resolver import forget

FETCH_SECONDS, SHARE, CORES = 0.02, 0.95, 2
#: the limits of a crawl, and of the start of the process that resolves ahead; the benchmark ends
#: when one is reached
LIMIT_SECONDS, START_SECONDS = 900.0, 60.0
KINDS = ["web-600"] * 7 + ["nx"] * 3 + ["to"] * 2 + [f"web-{20 + n}" for n in range(88)]


class Way(NamedTuple):
    """A way to get the addresses of names."""

    label: str
    #: the names that are resolved ahead
    ahead: str
    #: the resolver of dnspython that the fetch threads use, if they do
    theirs: DnspythonResolver | None = None


def main() -> None:
    asked = options(__doc__, hosts=300, pages=1, rounds=3)
    told: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with empty_database(), name_server() as server, served(answer) as port:
        settings.DNS_SERVERS = (server,)
        make_ready(default_classes(4, cores=CORES))
        for number, way in in_turn(ways(server), asked.rounds):
            told[way.label].append(
                measure(way, f"r{number}", port, server, asked.hosts, asked.pages)
            )
    print(f"{asked.hosts} hosts of {asked.pages} pages each; load {getloadavg()[0]:.1f}")
    table = Table("pages/s", "least", "most", "CPU ms", "a page")
    for label, some in told.items():
        rates, cpu = zip(*some, strict=True)
        table.row(median(rates), min(rates), max(rates), median(cpu), label)


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
    """Replaces the thread that resolves names. Hosts go directly to the fetch threads."""

    waiting, under_way, is_alive = 0, 0, True

    def __init__(self, deliver: Callable[[Visit], None], slots: Callable[[], int]) -> None:
        self._deliver, self.counter = deliver, LookupCounter()

    def ask(self, visit: Visit) -> None:
        visit.route.resolve(resolution(visit, DnsStatus.OK))
        self._deliver(visit)

    def close(self) -> None:
        """Do nothing, since nothing is under way."""


def lookup_and_step(
    theirs: DnspythonResolver,
) -> Callable[[Visit, FetchContext], UnreadAnswer | UrlOutcome | None]:
    """The step of a fetch thread that looks up the host's name before each fetch."""

    def ask_and_step(visit: Visit, context: FetchContext) -> UnreadAnswer | UrlOutcome | None:
        status, found, error = DnsStatus.OK, tuple[str, ...](), ""
        try:
            found = tuple(address.to_text() for address in theirs.resolve(host_of(visit)))
        except dns.exception.DNSException as failure:
            status, error = DnsStatus.NXDOMAIN, str(failure)
        visit.route.resolve(resolution(visit, status, found, error))
        return step(visit, context)

    return ask_and_step


def resolution(
    visit: Visit, status: DnsStatus, found: tuple[str, ...] = (), error: str = ""
) -> Resolution:
    return Resolution(host_of(visit), status, found, 300, 0, AnswerSource.LOOKUP, 0, error)


def measure(
    way: Way, zone: str, port: int, server: Server, hosts: int, pages: int
) -> tuple[float, float]:
    """Crawl once, from the start until enough pages are fetched. Return pages a second, and
    milliseconds of a processor a page.
    """
    forget()
    settings.DNS_AHEAD = way.ahead
    # the name under which the shift uses the thread
    setattr(name_thread, "NameThread", NobodyAsks if way.theirs else NameThread)  # noqa: B010
    chosen = lookup_and_step(way.theirs) if way.theirs else step
    setattr(fetch_threads, "step", chosen)  # noqa: B010
    zone = f"{zone}{''.join(filter(str.isalpha, way.label)).lower()}"
    names = [f"{KINDS[n * 37 % 100]}.h{n}.{zone}.test" for n in range(hosts)]
    wanted = int(SHARE * pages * sum(name.startswith("web") for name in names))
    seeds = [f"http://{name}:{port}/{pages - 1}" for name in names]
    with resolving_ahead(server, way.ahead) as busy:
        began, cpu, over = time.perf_counter(), time.process_time() + busy(), Event()
        ended: list[float] = []
        crawl = begin_crawl(zone, seeds, archive=False).crawl
        watcher = Thread(target=watch, args=[crawl, wanted, over, ended])
        watcher.start()
        while not over.is_set():
            for process, epoch in granted_shifts():
                run_shift(process, epoch)
        watcher.join()
        cpu = time.process_time() + busy() - cpu
    if not ended:
        raise SystemExit(f"{way.label}: fewer than {wanted} pages after {LIMIT_SECONDS:.0f} s")
    return wanted / (ended[0] - began), 1000 * cpu / wanted


def watch(crawl: CrawlJob, wanted: int, over: Event, ended: list[float]) -> None:
    """Stop the crawl when enough pages are fetched, and note the time; or when it takes too
    long.
    """
    pages = Url.objects.filter(run__crawl=crawl, state="s")
    with suppress(SystemExit):  # the caller reports the missing pages
        # the end is known to within 50 ms of some ten seconds
        await_change(lambda: pages.count() >= wanted, "Pages are missing.", seconds=LIMIT_SECONDS)
        ended.append(time.perf_counter())
    with suppress(WrongState):  # the crawl may have finished meanwhile
        stop(crawl)
    over.set()
    connections.close_all()


@contextmanager
def resolving_ahead(server: Server, ahead: str) -> Iterator[Callable[[], float]]:
    """Run the product's pre-resolver during the block, unless `ahead` is "off". Yields a function
    that returns the pre-resolver's processor time.
    """
    if ahead == "off":
        yield lambda: 0.0
        return
    with program("resolve_ahead", DNS_SERVERS=f"{server[0]}:{server[1]}") as process:
        await_change(is_seated, "The pre-resolver does not begin.", seconds=START_SECONDS)
        # by design its rate rises for this long, and its full rate is compared
        time.sleep(RAMP_SECONDS)
        yield lambda: seconds_of(process)
    assert not live_pre_resolvers().exists()


def is_seated() -> bool:
    """Whether the process that resolves ahead is working."""
    return bool(
        query_rows(
            "SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s", given=[SEAT_LOCK]
        )
    )


async def answer(asked: Asked) -> bytes:
    """A page: `/3` leads to `/2`, and so on. There is no robots.txt."""
    await asyncio.sleep(FETCH_SECONDS)  # stands for the time to a server on the internet
    number = asked.target[1:]
    if not number.isdigit():
        return reply(number, "404 Not Found")
    link = f' {asked.host} <a href="/{int(number) - 1}">x</a>' if int(number) else ""
    return reply(f"{number}{link}")


if __name__ == "__main__":
    main()
