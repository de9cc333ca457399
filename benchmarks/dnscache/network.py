"""Cold look-ups against dnspython: real packets to a name server in another process.

python -m benchmarks.dnscache.network

Their bound is workers / delay.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dns.resolver import Resolver as DnspythonResolver

from benchmarks.dnscache.memory import dnspython
from benchmarks.dnscache.server import name_server
from benchmarks.scene.database import empty_database
from benchmarks.timer import Table, timed
from dnscache.lookup import Server, ask, server_text
from dnscache.models import DnsServer
from dnscache.protocol.names import levels_of
from dnscache.resolver import Resolver
from dnscache.store import WriteBehind

#: names in thirty turns of the workers, so that starting the threads counts little
WORKERS, DELAY_MS, NAMES = 64, 100, 1920
#: resolved one after the other
HOSTS = 500


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
    with timed() as ours:
        resolver.resolve_many([name.format("a") for name in far], parallel=WORKERS, deadline=60)
    with timed() as bare, ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda name: both(theirs, name.format("b")), far))
    print(
        f"cold, {DELAY_MS} ms, {WORKERS} workers: {NAMES / ours.clock:.0f}/s of "
        f"{WORKERS * 1000 / DELAY_MS:.0f}; dnspython {NAMES / bare.clock:.0f}/s"
    )
    writer.close()
    resolver = Resolver(servers=(server,))
    ways: dict[str, Callable[[list[str]], object]] = {
        "with its row": lambda names: [resolver.resolve(name) for name in names],
        "in batches": lambda names: resolver.resolve_many(names, parallel=1, deadline=60),
        "to look it up": lambda names: [ask(name, seconds=5, servers=(server,)) for name in names],
        "dnspython": lambda names: all_of(theirs, names),
    }
    table = Table("CPU µs", "a cold host")
    for way, work in ways.items():
        names = [f"{way.replace(' ', '')}{n}.test" for n in range(HOSTS)]
        with timed() as taken:
            work(names)
        table.row(1e6 * taken.here / HOSTS, way)


def all_of(theirs: DnspythonResolver, names: list[str]) -> None:
    for name in names:
        both(theirs, name)


def both(theirs: DnspythonResolver, name: str) -> None:
    """A and AAAA, as dnspython's `resolve_name` asks for them."""
    theirs.resolve(name, "A")
    theirs.resolve(name, "AAAA", raise_on_no_answer=False)


if __name__ == "__main__":
    main()
