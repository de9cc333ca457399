"""Many hosts that answer slowly, by one worker or more: `python -m benchmarks.crawling.broad
[--hosts 1000] [--pages 10] [--delay 1] [--workers 1] [--slots 16 64 256]`

A process of its own serves as many hosts, each a loopback address, on one port. An answer comes
after 20 to 300 ms, by the host. A crawl of all hosts is measured for each number of fetch slots,
with every other default on. Told beside what `benchmarks.crawling.speed` tells: the pages a second
that delay and latency allow. Wants a PostgreSQL whose tables are made; its crawls stay.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
from dataclasses import replace
from multiprocessing.connection import Connection

from benchmarks.scene.database import set_up_django
from benchmarks.scene.sites import answering, served_by_process

LATENCIES = (0.02, 0.05, 0.1, 0.2, 0.3)
#: what a page says beside its links: 14 KB, as PostgreSQL's manual has
TEXT = "<p>" + "Some words that a page of usual length may have in a paragraph of it. " * 20
PARAGRAPHS = 10
MEBIBYTES = 4096


def main() -> None:
    from benchmarks.crawling.speed import measure
    from benchmarks.scene.crawls import make_ready

    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--hosts", type=int, default=1000)
    reader.add_argument("--pages", type=int, default=10, help="of each host")
    reader.add_argument("--delay", type=float, default=1.0)
    reader.add_argument("--workers", type=int, default=1)
    reader.add_argument("--slots", type=int, nargs="+", default=[16, 64, 256])
    asked = reader.parse_args()
    make_roomy_pool(max(asked.slots) * asked.workers)
    make_ready()
    # robots.txt takes a turn, too, and the slowest hosts end last
    allowed = asked.hosts / (asked.delay + max(LATENCIES))
    print(f"{asked.hosts:,} hosts; delay and latency allow {allowed:,.0f} pages a second")
    with served_by_process(_serve, asked.hosts, asked.pages) as port:
        seeds = [f"http://{host(number)}:{port}/0" for number in range(asked.hosts)]
        for slots in asked.slots:
            print(f"--- {slots} fetch slots", flush=True)
            claim = {"fetch_slots": slots, "dns_slots": 1, "memory": 2 * slots}
            fields = {"delay_seconds": asked.delay, "claim": claim}
            measure(seeds, asked.workers, fields)


def make_roomy_pool(slots: int) -> None:
    """Slots and memory are what is varied: the pool has enough of them."""
    from allocation.models import Pool
    from allocation.services import create_pool
    from crawling.installation.default_pool import default_classes

    if Pool.objects.exists():
        raise SystemExit("There is a pool already: begin with an empty state directory.")
    enough = {"fetch_slots": slots, "memory": MEBIBYTES}
    classes = [
        replace(one, capacity=max(one.capacity, enough.get(one.key, 0)))
        for one in default_classes(2)
    ]
    create_pool(name="default", classes=classes)


def host(number: int) -> str:
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"


def _serve(told: Connection, hosts: int, pages: int) -> None:
    async def answer(target: str, address: str) -> bytes:
        number = sum(map(int, address.split(".")[2:]))
        await asyncio.sleep(LATENCIES[number % len(LATENCIES)])
        return _answer(target, pages)

    async def serve() -> None:
        port = 0
        for number in range(hosts):
            server = await asyncio.start_server(answering(answer), host(number), port)
            port = server.sockets[0].getsockname()[1]
        told.send(port)
        await asyncio.Event().wait()

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(serve())


def _answer(target: str, pages: int) -> bytes:
    """A page leads to the next two."""
    if not target[1:].isdigit():
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    number = int(target[1:])
    links = "".join(f"<a href=/{n}>{n}</a>" for n in (number + 1, number + 2) if n < pages)
    body = f"<title>Page {number}</title>{number} {links}{TEXT * PARAGRAPHS}".encode()
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


if __name__ == "__main__":
    set_up_django()
    main()
