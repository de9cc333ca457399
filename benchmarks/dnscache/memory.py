"""How quick a hit is, how many bytes a name takes, how long a warm start takes; beside dnspython's
cache on the same machine.

python -m benchmarks.dnscache.memory [names]

Hits and warm start are processor time, so what else runs does not count.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from statistics import median

from django.db import connection
from dns.resolver import LRUCache
from dns.resolver import Resolver as DnspythonResolver

from benchmarks.dnscache.server import name_server
from benchmarks.dnscache.setup import fill
from benchmarks.scene.database import empty_database
from dnscache.lookup import Server
from dnscache.protocol.answers import DnsStatus, Reply, answer_from
from dnscache.regions.entry import CachedAnswer
from dnscache.resolver import Resolver

HITS, RUNS, THREADS, ENTRIES = 50_000, 5, 64, 200_000
HOST = "www.host7.com"


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
    cached = per_second(lambda: theirs.resolve(HOST))
    for what, work in {
        "dict.get (the limit)": lambda: table2.get(HOST),
        "dnspython, cached": lambda: theirs.resolve(HOST),
        "CacheSpace.get, forward: table 2": lambda: get(HOST, now),
        "CacheSpace.get, reverse: table 3 and the area": lambda: get("slow.com", now),
        "Resolver.resolve": lambda: resolver.resolve(HOST),
        "Resolver.resolve, a name that rests after a failure": lambda: resolver.resolve("dead.com"),
    }.items():
        tell(what, per_second(work), cached)
    tell(f"CacheSpace.get in {THREADS} threads", in_threads(lambda: get(HOST, now)), cached)


def per_second(work: Callable[[], object]) -> float:
    """Median over some runs, in processor time."""
    rates = []
    for _ in range(RUNS):
        begin = time.process_time()
        for _ in repeat(None, HITS):
            work()
        rates.append(HITS / (time.process_time() - begin))
    return median(rates)


def in_threads(work: Callable[[], object]) -> float:
    def some() -> None:
        for _ in repeat(None, HITS):
            work()

    threads = [threading.Thread(target=some) for _ in range(THREADS)]
    begin = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return THREADS * HITS / (time.process_time() - begin)


def dnspython(server: Server) -> DnspythonResolver:
    theirs = DnspythonResolver(configure=False)
    theirs.nameservers, theirs.port = [server[0]], server[1]
    theirs.cache = LRUCache(100_000)
    return theirs


def bytes_of_dnspython(server: Server, names: int = 20_000) -> None:
    theirs = dnspython(server)
    before = resident()
    for n in range(names):
        theirs.resolve(f"www.host{n}.com")
    print(f"{'bytes a name, dnspython':54}{(resident() - before) / names:12,.0f}")


def warm_start(names: int) -> None:
    """A new process takes over all rows."""
    fill(names)
    resolver = Resolver(capacity=names)
    gc.collect()
    before, wall, cpu, theirs = (
        resident(),
        time.perf_counter(),
        time.process_time(),
        backend_seconds(),
    )
    loaded = resolver.warm_start()
    wall, cpu, theirs = (
        time.perf_counter() - wall,
        time.process_time() - cpu,
        backend_seconds() - theirs,
    )
    assert loaded == names
    print(
        f"{f'warm start, {names:,} names':54}{cpu:12.1f} s of processor here, {theirs:.1f} in "
        f"PostgreSQL, {wall:.1f} by the clock"
    )
    print(f"{'bytes a name, taken over':54}{(resident() - before) / names:12,.0f}")
    now, before, cpu = time.time(), resident(), time.process_time()
    some = Resolver(capacity=names)
    for n in range(ENTRIES):
        name = f"www{n % 3}.host{n // 3}.com"
        reply = Reply(DnsStatus.OK, (f"192.0.{n % 250}.{n % 199}",), name, 0, 300, 23)
        some.memory.space.put(answer_from(name, reply, previous=None, now=now), now)
    print(
        f"{'bytes a name in use, tables and tree included':54}"
        f"{(resident() - before) / ENTRIES:12,.0f}"
    )
    print(f"{'putting a new answer':54}{1e6 * (time.process_time() - cpu) / ENTRIES:12.1f} µs")


def backend_seconds() -> float:
    """Processor time of the PostgreSQL process that serves this one, on the same machine; its
    parallel helpers are not counted.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        stat = Path(f"/proc/{cursor.fetchone()[0]}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def tell(what: str, rate: float, cached: float) -> None:
    print(f"{what:54}{rate:12,.0f}/s{1e6 / rate:9.2f} µs{rate / cached:8.1f} x dnspython")


if __name__ == "__main__":
    main()
