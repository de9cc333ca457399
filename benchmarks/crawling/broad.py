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
from dataclasses import replace
from functools import partial

from allocation.models import Pool
from benchmarks.crawling.speed import measure
from benchmarks.scene.crawls import make_ready
from benchmarks.scene.sites import NOT_HERE, Asked, reply, served
from crawling.installation.pools import default_classes

LATENCIES = (0.02, 0.05, 0.1, 0.2, 0.3)
#: what a page says beside its links: 14 KB, as PostgreSQL's manual has
TEXT = "<p>" + "Some words that a page of usual length may have in a paragraph of it. " * 20
PARAGRAPHS = 10
MEBIBYTES = 4096


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--hosts", type=int, default=1000)
    reader.add_argument("--pages", type=int, default=10, help="of each host")
    reader.add_argument("--delay", type=float, default=1.0)
    reader.add_argument("--workers", type=int, default=1)
    reader.add_argument("--slots", type=int, nargs="+", default=[16, 64, 256])
    asked = reader.parse_args()
    make_roomy_pool(max(asked.slots) * asked.workers)
    # robots.txt takes a turn, too, and the slowest hosts end last
    allowed = asked.hosts / (asked.delay + max(LATENCIES))
    print(f"{asked.hosts:,} hosts; delay and latency allow {allowed:,.0f} pages a second")
    addresses = [host(number) for number in range(asked.hosts)]
    with served(partial(answer, asked.pages), addresses) as port:
        for slots in asked.slots:
            print(f"--- {slots} fetch slots", flush=True)
            claim = {"fetch_slots": slots, "dns_slots": 1, "memory": 2 * slots}
            seeds = [f"http://{address}:{port}/0" for address in addresses]
            measure(seeds, asked.workers, delay_seconds=asked.delay, claim=claim)


def make_roomy_pool(slots: int) -> None:
    """Slots and memory are what is varied: the pool has enough of them."""
    if Pool.objects.exists():
        raise SystemExit("There is a pool already: begin with an empty state directory.")
    enough = {"fetch_slots": slots, "memory": MEBIBYTES}
    make_ready(
        [
            replace(one, capacity=max(one.capacity, enough.get(one.key, 0)))
            for one in default_classes(2)
        ]
    )


def host(number: int) -> str:
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"


async def answer(pages: int, asked: Asked) -> bytes:
    """A page leads to the next two."""
    place = sum(map(int, asked.address.split(".")[2:]))
    await asyncio.sleep(LATENCIES[place % len(LATENCIES)])
    if not asked.target[1:].isdigit():
        return NOT_HERE
    number = int(asked.target[1:])
    links = "".join(f"<a href=/{n}>{n}</a>" for n in (number + 1, number + 2) if n < pages)
    return reply(f"<title>Page {number}</title>{number} {links}{TEXT * PARAGRAPHS}")


if __name__ == "__main__":
    main()
