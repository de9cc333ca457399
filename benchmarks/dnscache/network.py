"""Cold look-ups against dnspython: real packets to a name server in another process.

python -m benchmarks.dnscache.network

Their bound is workers / delay.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dns.resolver import Resolver as DnspythonResolver

from benchmarks.dnscache.memory import dnspython
from benchmarks.dnscache.server import name_server
from benchmarks.scene.database import empty_database
from dnscache.lookup import Server, ask, server_text
from dnscache.models import DnsServer
from dnscache.protocol.names import levels_of
from dnscache.resolver import Resolver
from dnscache.store import WriteBehind

#: names in thirty turns of the workers, so that starting the threads counts little
WORKERS, DELAY_MS, NAMES = 64, 100, 1920


def main() -> None:
    with empty_database(), name_server() as server:
        DnsServer.objects.create(server=server_text(server), per_second=1000)
        cold(server)


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


if __name__ == "__main__":
    main()
