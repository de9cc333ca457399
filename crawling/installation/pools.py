"""The pools that crawls may use, their capacities, and the pool of a new installation, which is
derived from the machine's size.
"""

from __future__ import annotations

import os
from typing import Any

import psutil

from allocation.models import Pool
from allocation.services import NewClass
from crawling.base.errors import BadOrder, NoPool
from crawling.models import CrawlJob
from crawling.orders.claims import BROWSER_MEMORY, BROWSER_PAGES, USUAL_CLAIM


def default_pool() -> Pool:
    """The pool of crawls that name none, which is the oldest pool. Raises NoPool."""
    pool: Pool | None = crawl_pools().order_by("pk").first()
    if pool is None:
        raise NoPool
    return pool


def crawl_pools() -> Any:
    """All pools except those of experiments."""
    return Pool.objects.filter(is_experiment=False)


def pool_named(name: str) -> Pool:
    """The pool that an order names; without a name, the default pool. Raises NoPool or BadOrder."""
    if not name:
        return default_pool()
    pool: Pool | None = crawl_pools().filter(name=name).first()
    if pool is None:
        names = ", ".join(crawl_pools().order_by("pk").values_list("name", flat=True))
        raise BadOrder({"pool": f"there is no pool {name!r}; there are {names or 'none'}"})
    return pool


def pool_of(crawl: CrawlJob) -> Pool:
    """The pool in which a crawl's processes are registered. Raises NoPool or BadOrder."""
    # no order can name the pool of an experiment, but the experiment's own crawls use it
    found = Pool.objects.filter(name=crawl.pool).first() if crawl.pool else None
    return found or pool_named(crawl.pool)


def capacity_of(pool: Pool) -> dict[str, int]:
    return dict(zip(pool.classes.values_list("key", flat=True), pool.capacity, strict=False))


def memory_to_hold(mebibytes: int) -> int:
    """The amount, or all memory of the default pool if that is less, since more would never be
    granted. Raises NoPool.
    """
    return min(mebibytes, capacity_of(default_pool()).get("memory", mebibytes))


MIB = 1024 * 1024
#: an internet line of 100 MiB/s
LINE_KIB_PER_SECOND = 102_400
#: the part of the bandwidth for webhooks, which the pool never grants, so that they get through
#: when nothing is free
WEBHOOK_KIB_PER_SECOND = 64


def default_classes(workers: int, *, cores: int = os.cpu_count() or 1) -> list[NewClass]:
    """The classes of a pool in which as many usual crawls fit at once as there are workers, besides
    a DNS resolver that has half of the look-ups.
    """
    look_ups = 2 * USUAL_CLAIM["dns_slots"] * workers
    return [
        NewClass(
            "worker",
            "workers",
            "Workers that run; a crawl that fetches occupies one.",
            workers,
        ),
        NewClass(
            "fetch_slots",
            "threads",
            "Fetches under way, all crawls together.",
            max(32 * cores, USUAL_CLAIM["fetch_slots"] * workers),
        ),
        NewClass(
            "bandwidth",
            "KiB/s",
            f"Download rate; {WEBHOOK_KIB_PER_SECOND} KB/s beside it are for webhooks.",
            LINE_KIB_PER_SECOND - WEBHOOK_KIB_PER_SECOND,
        ),
        NewClass(
            "memory",
            "MiB",
            "Documents in hand, and the programs that read PDF.",
            psutil.virtual_memory().total // MIB // 8,
        ),
        NewClass(
            "dns_slots",
            "look-ups",
            "Look-ups of host names under way.",
            max(16 * cores, look_ups),
        ),
        NewClass(
            "archive_writers",
            "files",
            "Archive files open for writing.",
            max(2 * workers, 4),
        ),
        # the scheduler sets these two to what the workers' browsers may have
        NewClass(
            BROWSER_PAGES,
            "pages",
            "Pages open in the browsers of workers; 0 without a worker that has a browser.",
            0,
        ),
        NewClass(
            BROWSER_MEMORY,
            "MiB",
            "Memory of the pages open in browsers.",
            0,
        ),
    ]
