"""How quick a hit is, how many bytes a name takes, how long a warm start takes; beside dnspython's
cache on the same machine.

python -m benchmarks.dnscache.memory [names]

Hits and warm start are processor time, so what else runs does not count.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from functools import partial
from itertools import repeat
from statistics import median

import psutil
from dns.resolver import LRUCache
from dns.resolver import Resolver as DnspythonResolver

from benchmarks.dnscache.server import name_server
from benchmarks.scene.database import empty_database, tell
from benchmarks.timer import Step, Table, resident_of, rounds_of, timed
from dnscache.lookup import Server
from dnscache.protocol.answers import DnsStatus, Reply, answer_from
from dnscache.regions.entry import CachedAnswer
from dnscache.resolver import Resolver

HITS, RUNS, THREADS, ENTRIES = 50_000, 5, 64, 200_000
HOST = "www.host7.com"
#: three names under each registered one, with the mix of TTLs and durations of real answers
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
    names = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with empty_database(), name_server() as server:
        hits(server)
        bytes_of_dnspython(server)
        warm_start(names)


def hits(server: Server) -> None:
    """Hits a second, one name, one thread, in each region; then table 2 under many threads."""
    resolver = Resolver(servers=(server,))
    resolver.resolve(HOST)
    dead = answer_from(
        "dead.com", Reply(DnsStatus.TIMEOUT, resolve_ms=8000), previous=None, now=time.time() + 300
    )
    slow = answer_from(
        "slow.com",
        Reply(DnsStatus.OK, ("192.0.2.1",), "slow.com", 0, 3600, 900),
        previous=None,
        now=time.time(),
    )
    resolver.memory.adopt(
        [(one.name, CachedAnswer(one, now=time.time())) for one in (dead, slow)], time.time()
    )
    now, space = time.time(), resolver.memory.space
    get, table2 = space.get, space.forward.table2
    assert HOST in table2
    assert {"dead.com", "slow.com"} <= space.reverse.table3.keys()
    theirs = dnspython(server)
    theirs.resolve(HOST)
    ways = {
        "dnspython, cached": lambda: theirs.resolve(HOST),
        "dict.get (the limit)": lambda: table2.get(HOST),
        "CacheSpace.get, forward: table 2": lambda: get(HOST, now),
        "CacheSpace.get, reverse: table 3 and the area": lambda: get("slow.com", now),
        "Resolver.resolve": lambda: resolver.resolve(HOST),
        "Resolver.resolve, a name that rests after a failure": lambda: resolver.resolve("dead.com"),
    }
    rates = {what: per_second(work) for what, work in ways.items()}
    rates[f"CacheSpace.get in {THREADS} threads"] = in_threads(lambda: get(HOST, now))
    table = Table("a second", "µs", "x dnspython", "what")
    for what, rate in rates.items():
        table.row(round(rate), 1e6 / rate, rate / rates["dnspython, cached"], what)


def per_second(work: Step) -> float:
    """Median over some runs, in processor time."""
    return median(HITS / taken.here for taken in rounds_of([partial(often, work)] * RUNS))


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


def bytes_of_dnspython(server: Server, names: int = 20_000) -> None:
    theirs, before = dnspython(server), own_bytes()
    for n in range(names):
        theirs.resolve(f"www.host{n}.com")
    print(f"{(own_bytes() - before) / names:8,.0f} bytes a name, dnspython")


def own_bytes() -> float:
    """What this process has now: a peak has what was thrown away, too."""
    return resident_of(psutil.Process())


def warm_start(names: int) -> None:
    """A new process takes over all rows."""
    tell(FILL, given=[names])
    tell("ANALYZE dnscache_dnsentry")
    resolver = Resolver(capacity=names)
    gc.collect()
    before = own_bytes()
    with timed() as taken:
        loaded = resolver.warm_start()
    assert loaded == names
    print(
        f"warm start, {names:,} names: {taken.here:.1f} s of processor here, {taken.there:.1f} in "
        f"PostgreSQL, {taken.clock:.1f} by the clock\n"
        f"{(own_bytes() - before) / names:8,.0f} bytes a name, taken over"
    )
    now, some, before = time.time(), Resolver(capacity=names), own_bytes()
    with timed() as taken:
        for n in range(ENTRIES):
            name = f"www{n % 3}.host{n // 3}.com"
            reply = Reply(DnsStatus.OK, (f"192.0.{n % 250}.{n % 199}",), name, 0, 300, 23)
            some.memory.space.put(answer_from(name, reply, previous=None, now=now), now)
    print(
        f"{(own_bytes() - before) / ENTRIES:8,.0f} bytes a name in use, tables and tree included\n"
        f"{1e6 * taken.here / ENTRIES:8.1f} µs to put a new answer"
    )


if __name__ == "__main__":
    main()
