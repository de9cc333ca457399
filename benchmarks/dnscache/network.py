"""Cold look-ups against dnspython, and a small crawl with DNS delays, five ways; real packets to a
name server in another process.

python -m benchmarks.dnscache.network [ROUNDS]

The bound of cold look-ups is workers / delay. The crawl sleeps instead of fetching, so that names
are all that differs.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from statistics import median

import dns.exception
from django.db import connection
from dns.resolver import Resolver as DnspythonResolver

from benchmarks.database import empty_database
from benchmarks.dnscache.memory import dnspython
from benchmarks.dnscache.server import name_server
from dnscache.lookup import Server, ask, server_text
from dnscache.models import DnsServer
from dnscache.preresolver.preresolver import PreResolver
from dnscache.protocol.names import levels_of
from dnscache.resolution import Resolution
from dnscache.resolver import Resolver
from dnscache.store import WriteBehind

#: names in thirty turns of the workers, so that starting the threads counts little
WORKERS, DELAY_MS, NAMES = 64, 100, 1920
HOSTS, PAGES, FETCHERS, FETCH_SECONDS = 300, 6, 32, 0.02
#: the last pages are those of silent names, which would outlast a crawl as small as this
SHARE = 0.95

#: when a page was done, and how long it waited for its name
Fetched = tuple[float, float]


def main() -> None:
    with empty_database(), name_server() as server:
        DnsServer.objects.create(server=server_text(server), per_second=1000)
        cold(server)
        crawls(server)


def cold(server: Server) -> None:
    """Names without addresses, A and AAAA, each 100 ms away; then 0 ms away, one after the other,
    in processor time.

    By a process that has begun its work: the list of public suffixes, 30 ms, is read once, and
    garbage is sought as in `resolve_ahead`.
    """
    levels_of("example.org")
    gc.freeze()
    theirs = dnspython(server)
    far = [f"slow-{DELAY_MS}.{{}}{n}.test" for n in range(NAMES)]
    writer = WriteBehind()  # as wherever crawls resolve
    writer.start()
    resolver = Resolver(servers=(server,), writer=writer)
    begun = time.perf_counter()
    resolver.resolve_many([name.format("a") for name in far], parallel=WORKERS, deadline=60)
    ours_rate = NAMES / (time.perf_counter() - begun)
    begun = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda name: both(theirs, name.format("b")), far))
    their_rate = NAMES / (time.perf_counter() - begun)
    bound = WORKERS * 1000 / DELAY_MS
    print(
        f"cold, {DELAY_MS} ms, {WORKERS} workers: {ours_rate:.0f}/s of {bound:.0f}; dnspython "
        f"{their_rate:.0f}/s"
    )
    writer.close()
    resolver = Resolver(servers=(server,))
    ours = processor(lambda n: resolver.resolve(f"near{n}.test"))
    bare = processor(lambda n: both(theirs, f"bare{n}.test"))
    batch = time.process_time()
    resolver.resolve_many([f"batch{n}.test" for n in range(500)], parallel=1, deadline=60)
    batched = (time.process_time() - batch) / 500
    asked = processor(lambda n: ask(f"asked{n}.test", seconds=5, servers=(server,)))
    print(
        f"processor time a cold host: {1e6 * ours:.0f} µs with its row, {1e6 * batched:.0f} in "
        f"batches, {1e6 * asked:.0f} to look it up"
    )
    print(f"processor time a cold host, dnspython: {1e6 * bare:.0f} µs")


def both(theirs: DnspythonResolver, name: str) -> None:
    """A and AAAA, as dnspython's `resolve_name` asks for them."""
    theirs.resolve(name, "A")
    theirs.resolve(name, "AAAA", raise_on_no_answer=False)


def processor(work: Callable[[int], object], times: int = 500) -> float:
    begun = time.process_time()
    for n in range(times):
        work(n)
    return (time.process_time() - begun) / times


def crawls(server: Server) -> None:
    """Six pages of each host: 20 to 120 ms of DNS, 7 % 600 ms, 3 % no such name, 2 % silent."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(f"{f'{rounds} crawls of {HOSTS * PAGES} pages':34}{'pages/s':>10}{'mean wait ms':>14}")
    ways: dict[str, Callable[[str], list[Fetched]]] = {
        "no cache": lambda zone: plain(zone, server, cached=False),
        "dnspython's LRU": lambda zone: plain(zone, server, cached=True),
        "ours": lambda zone: ours(zone, server, ahead=False, gate=False),
        "ours, resolving ahead": lambda zone: ours(zone, server, ahead=True, gate=False),
        "ours, ahead and with the gate": lambda zone: ours(zone, server, ahead=True, gate=True),
    }
    told: dict[str, list[tuple[float, float]]] = {label: [] for label in ways}
    for number in range(rounds):  # one way after the other, so that what else runs hits all alike
        for label, crawl in ways.items():
            begun = time.perf_counter()
            done = sorted(crawl("".join(filter(str.isalpha, label)) + str(number)))[
                : int(SHARE * HOSTS * PAGES)
            ]
            told[label].append(
                (len(done) / (done[-1][0] - begun), sum(wait for _, wait in done) / len(done))
            )
    for label, rounds_of in told.items():
        rates, waits = zip(*rounds_of, strict=True)
        print(f"{label:34}{median(rates):10.0f}{1000 * median(waits):14.1f}", flush=True)


def hosts_of(zone: str) -> list[str]:
    kinds = ["slow-600"] * 7 + ["nx"] * 3 + ["to"] * 2 + [f"slow-{20 + n}" for n in range(88)]
    return [f"{kinds[n * 37 % 100]}.h{n}.{zone}" for n in range(HOSTS)]


def fetch_all(pages: Iterator[str], resolve: Callable[[str], object]) -> list[Fetched]:
    """Let the fetchers work through the pages."""
    done: list[Fetched] = []
    lock = threading.Lock()

    def fetch() -> None:
        while True:
            with lock:
                host = next(pages, None)
            if host is None:
                return connection.close()
            begun = time.perf_counter()
            resolve(host)
            wait = time.perf_counter() - begun
            time.sleep(FETCH_SECONDS)  # stands for the fetch: only names are measured here
            done.append((time.perf_counter(), wait))

    threads = [threading.Thread(target=fetch) for _ in range(FETCHERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def plain(zone: str, server: Server, *, cached: bool) -> list[Fetched]:
    theirs = dnspython(server)
    theirs.lifetime = 2.0
    if not cached:
        theirs.cache = None

    def resolve(host: str) -> None:
        try:
            theirs.resolve(host)
        except dns.exception.DNSException:
            return

    return fetch_all(iter(hosts_of(zone) * PAGES), resolve)


def ours(zone: str, server: Server, *, ahead: bool, gate: bool) -> list[Fetched]:
    writer = WriteBehind()
    writer.start()
    resolver = Resolver(servers=(server,), writer=writer)
    hosts, stop = hosts_of(zone), threading.Event()
    ready: SimpleQueue[dict[str, Resolution]] = SimpleQueue()
    dues = {host: time.time() + place / 100 for place, host in enumerate(hosts)}
    pre = PreResolver(
        resolver,
        candidates=lambda until: dues.items(),
        deliver=ready.put,
        slots=lambda: 64,
        ramp_seconds=0.0,
    )
    thread = threading.Thread(target=resolve_ahead, args=[pre, stop])
    if ahead:
        thread.start()
    pages = settled_pages(ready) if gate else iter(hosts * PAGES)
    done = fetch_all(pages, lambda host: resolver.resolve(host, deadline=2.0))
    stop.set()
    if ahead:
        thread.join()
    writer.close()
    return done


def resolve_ahead(pre: PreResolver, stop: threading.Event) -> None:
    while not stop.is_set():
        pre.turn(wait=0.2)
    pre.close()
    connection.close()


def settled_pages(ready: SimpleQueue[dict[str, Resolution]]) -> Iterator[str]:
    """Yield the pages of hosts as they pass the gate, in turns."""
    known: list[tuple[str, int]] = []
    passed: set[str] = set()
    while len(passed) < HOSTS or known:
        try:
            while True:
                news = [host for host in ready.get(block=not known) if host not in passed]
                passed.update(news)
                known += [(host, PAGES) for host in news]
        except Empty:
            pass
        host, left = known.pop(0)
        if left > 1:
            known.append((host, left - 1))
        yield host


if __name__ == "__main__":
    main()
