"""What the benchmarks of the cache stand on: rows, and a name server in another process."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import dns.message
import dns.rdatatype
from django.db import connection

from dnscache.lookup import Server
from tests.dns_scenarios import SCENARIOS, add
from tests.nameserver import serve_names

#: three names under each registered one, with the mix of TTLs and durations of real answers
_FILL = """
    INSERT INTO dnscache_dnsentry (name, registrable, status, addresses, address_classes, canonical, rcode, ttl, resolve_ms, resolved_at,
        expires_at, fails, region, cost_seconds, hits, last_access, weight, upstream, error)
    SELECT name, registrable, 'ok', ARRAY[('192.0.' || mod(n, 250) || '.' || mod(n, 199))::inet], '{reserved}', name, 0, 3600, ms, now(),
        now() + interval '1 h', 0, 1 + (ms > 300)::int, ms / 1000.0, 1 + mod(n, 7), now(), random(), '192.0.2.53:53', ''
    FROM (
        SELECT n, 5 + mod(n, 350) AS ms, 'host' || n / 3 || '.com' AS registrable, 'www' || mod(n, 3) || '.host' || n / 3 || '.com' AS name
        FROM generate_series(1, %s) n
    )
"""


def fill(rows: int) -> None:
    """Keep so many answers as earlier processes would have left them."""
    with connection.cursor() as cursor:
        cursor.execute(_FILL, [rows])
        cursor.execute("ANALYZE dnscache_dnsentry")


@contextmanager
def name_server() -> Iterator[Server]:
    """Run the tests' scripted name server in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join()


def _of_the_web(response: dns.message.Message, name: str, rdtype: dns.rdatatype.RdataType, argument: str) -> None:
    """`web-N`: loopback, after N milliseconds."""
    time.sleep(int(argument) / 1000)
    add(response, name, rdtype, ["127.0.0.1"])


def _serve(pipe: Connection) -> None:
    SCENARIOS["web"] = _of_the_web
    with serve_names() as server:
        pipe.send(server.address)
        pipe.recv()
