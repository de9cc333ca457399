"""The time of a hit, the bytes of a name, and the times of a warm start and of cold look-ups,
compared with dnspython on the same machine.

python -m benchmarks.dnscache.costs [--names 1000000]

Hits, the warm start and a cold host are told by processor time, so what else runs does not count.
The bound of names that are 100 ms away is workers / delay.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from statistics import median

import psutil
from dns.resolver import LRUCache
from dns.resolver import Resolver as DnspythonResolver

from benchmarks.dnscache.server import name_server
from benchmarks.report import Table, options
from benchmarks.scene.database import empty_database, execute
from benchmarks.timer import Step, resident_of, rounds_of, timed
from dnscache.lookup import Server, query_name, server_text
from dnscache.models import DnsServer
from dnscache.protocol.answers import DnsStatus, Reply, answer_of_reply
from dnscache.protocol.names import levels_of
from dnscache.regions.entry import CachedAnswer
from dnscache.resolver import Resolver
from dnscache.store import WriteBehind

HITS, RUNS, THREADS, ENTRIES, THEIRS = 50_000, 5, 64, 200_000, 20_000
HOST = "www.host7.com"
#: the names, in thirty turns of the workers, so that starting the threads counts little
WORKERS, DELAY_MS, NAMES = 64, 100, 1920
#: the hosts that are resolved one after the other
HOSTS = 500
#: three names below each registered one, with the TTLs and durations of real answers
FILL = """
    INSERT INTO dnscache_dnsentry (name, registrable, status, addresses, address_classes, canonical,
        rcode, ttl, resolve_ms, resolved_at, expires_at, fails, region, cost_seconds, hits,
            last_access, weight, upstream, error)
    SELECT name, registrable, 'ok', ARRAY[('192.0.' || mod(n, 250) || '.' || mod(n, 199))::inet],
        '{reserved}', name, 0, 3600, ms, now(), now() + interval '1 h', 0, 1 + (ms >= 300)::int,
            ms / 1000.0, 1 + mod(n, 7), now(), random(), '192.0.2.53:53', ''
    FROM (
        SELECT n, 5 + mod(n, 350) AS ms, 'host' || n / 3 || '.com' AS registrable,
            'www' || mod(n, 3) || '.host' || n / 3 || '.com' AS name
        FROM generate_series(1, %s) n
    )
"""


def main() -> None:
    names = options(__doc__, names=1_000_000).names
    with empty_database(), name_server() as server:
        DnsServer.objects.create(server=server_text(server), per_second=1000)
        hits(server)
        cold(server)
        bytes_of_names(server, names)


def hits(server: Server) -> None:
    """Measure hits a second for one name and one thread, in each region; then table 2 with many
    threads.
    """
    resolver, now = Resolver(servers=(server,)), time.time()
    resolver.resolve(HOST)
    dead = Reply(DnsStatus.TIMEOUT, resolve_ms=8000)
    slow = Reply(DnsStatus.OK, ("192.0.2.1",), "slow.com", 0, 3600, 900)
    answers = (
        answer_of_reply("dead.com", dead, previous=None, now=now + 300),
        answer_of_reply("slow.com", slow, previous=None, now=now),
    )
    resolver.memory.adopt([(one.name, CachedAnswer(one, now=now)) for one in answers], now)
    space = resolver.memory.space
    get, table2 = space.get, space.forward.table2
    assert HOST in table2
    assert {"dead.com", "slow.com"} <= space.reverse.table3.keys()
    theirs = dnspython(server)
    theirs.resolve(HOST)
    ways: dict[str, Step] = {
        "dnspython, cached": lambda: theirs.resolve(HOST),
        "dict.get (the limit)": lambda: table2.get(HOST),
        "CacheSpace.get, forward: table 2": lambda: get(HOST, now),
        "CacheSpace.get, reverse: table 3 and the area": lambda: get("slow.com", now),
        "Resolver.resolve": lambda: resolver.resolve(HOST),
        "Resolver.resolve, a name that rests after a failure": lambda: resolver.resolve("dead.com"),
    }
    rates = {
        what: median(HITS / taken.here for taken in rounds_of([partial(often, work)] * RUNS))
        for what, work in ways.items()
    }
    rates[f"CacheSpace.get in {THREADS} threads"] = in_threads(lambda: get(HOST, now))
    table = Table("a second", "µs", "x dnspython", "what")
    for what, rate in rates.items():
        table.row(round(rate), 1e6 / rate, rate / rates["dnspython, cached"], what)


def often(work: Step) -> None:
    for _ in repeat(None, HITS):
        work()


def in_threads(work: Step) -> float:
    threads = [threading.Thread(target=often, args=[work]) for _ in range(THREADS)]
    with timed() as taken:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return THREADS * HITS / taken.here


def dnspython(server: Server) -> DnspythonResolver:
    theirs = DnspythonResolver(configure=False)
    theirs.nameservers, theirs.port = [server[0]], server[1]
    theirs.cache = LRUCache(100_000)
    return theirs


def cold(server: Server) -> None:
    """Time look-ups of uncached names, A and AAAA, at servers 100 ms away. Then time them one by
    one in processor time, at servers 0 ms away.

    This is done by a process that is already working: the list of public suffixes, which takes 30
    ms, is read before, and garbage is collected as in `resolve_ahead`.
    """
    levels_of("example.org")
    gc.freeze()
    theirs = dnspython(server)
    far = [f"slow-{DELAY_MS}.{{}}{n}.test" for n in range(NAMES)]
    writer = WriteBehind()  # as in all processes that resolve names for crawls
    writer.start()
    resolver = Resolver(servers=(server,), writer=writer)
    with timed() as ours:
        resolver.resolve_many([name.format("a") for name in far], parallel=WORKERS, deadline=60)
    with timed() as bare, ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda name: both(theirs, name.format("b")), far))
    writer.close()
    bound = WORKERS * 1000 / DELAY_MS
    table = Table("a second", f"of {bound:.0f}", f"cold, {DELAY_MS} ms, {WORKERS} workers")
    for way, taken in (("ours", ours), ("dnspython", bare)):
        table.row(NAMES / taken.clock, NAMES / taken.clock / bound, way)
    cold_hosts(server, theirs)
    gc.unfreeze()


def cold_hosts(server: Server, theirs: DnspythonResolver) -> None:
    resolver = Resolver(servers=(server,))
    ways: dict[str, Callable[[list[str]], object]] = {
        "with its row": lambda names: [resolver.resolve(name) for name in names],
        "in batches": lambda names: resolver.resolve_many(names, parallel=1, deadline=60),
        "to look it up": lambda names: [
            query_name(name, seconds=5, servers=(server,)) for name in names
        ],
        "dnspython": lambda names: list(map(partial(both, theirs), names)),
    }
    table = Table("CPU µs", "a cold host")
    for way, work in ways.items():
        names = [f"{way.replace(' ', '')}{n}.test" for n in range(HOSTS)]
        with timed() as taken:
            work(names)
        table.row(1e6 * taken.here / HOSTS, way)


def both(theirs: DnspythonResolver, name: str) -> None:
    """A and AAAA, as `resolve_name` of dnspython asks for them."""
    theirs.resolve(name, "A")
    theirs.resolve(name, "AAAA", raise_on_no_answer=False)


def bytes_of_names(server: Server, names: int) -> None:
    """Measure the bytes of dnspython's entries, of entries that a new process takes over, and of
    entries that it stores.
    """
    execute(FILL, given=[names])
    execute("ANALYZE dnscache_dnsentry")
    theirs, now = dnspython(server), time.time()
    loaded, used = Resolver(capacity=names), Resolver(capacity=max(names, ENTRIES))

    def put(n: int) -> None:
        name = f"www{n % 3}.host{n // 3}.com"
        reply = Reply(DnsStatus.OK, (f"192.0.{n % 250}.{n % 199}",), name, 0, 300, 23)
        used.memory.space.put(answer_of_reply(name, reply, previous=None, now=now), now)

    ways: dict[str, tuple[int, Step]] = {
        "dnspython": (THEIRS, lambda: [theirs.resolve(f"www.host{n}.com") for n in range(THEIRS)]),
        "taken over by a warm start": (names, loaded.load_stored_answers),
        "in use, tables and tree included": (ENTRIES, lambda: list(map(put, range(ENTRIES)))),
    }
    table = Table("bytes", "CPU µs", "in PG", "clock s", "a name")
    for way, (count, work) in ways.items():
        gc.collect()
        before = own_bytes()
        with timed() as taken:
            work()
        each = 1e6 / count
        size = (own_bytes() - before) / count
        table.row(size, each * taken.here, each * taken.there, taken.clock, f"{way}, of {count:,}")


def own_bytes() -> float:
    """The memory that this process has now, since the peak includes memory that it has released."""
    return resident_of(psutil.Process())


if __name__ == "__main__":
    main()
