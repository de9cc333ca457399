"""The pools that crawls may have, and how much is in them."""

from __future__ import annotations

from typing import Any

from allocation.models import Pool
from crawling.base.errors import BadOrder, NoPool
from crawling.models import CrawlJob


def default_pool() -> Pool:
    """The pool of crawls that name none: the oldest. Raises NoPool."""
    pool: Pool | None = crawl_pools().order_by("pk").first()
    if pool is None:
        raise NoPool
    return pool


def crawl_pools() -> Any:
    """All pools but those of experiments."""
    return Pool.objects.filter(is_experiment=False)


def pool_named(name: str) -> Pool:
    """The pool that an order names; no name: the default pool. Raises NoPool, BadOrder."""
    if not name:
        return default_pool()
    pool: Pool | None = crawl_pools().filter(name=name).first()
    if pool is None:
        names = ", ".join(crawl_pools().order_by("pk").values_list("name", flat=True))
        raise BadOrder({"pool": f"there is no pool {name!r}; there are {names or 'none'}"})
    return pool


def pool_of(crawl: CrawlJob) -> Pool:
    """The pool that a crawl's processes are registered in. Raises NoPool, BadOrder."""
    # no order can name the pool of an experiment, but the experiment's own crawls have it
    found = Pool.objects.filter(name=crawl.pool).first() if crawl.pool else None
    return found or pool_named(crawl.pool)


def capacity_of(pool: Pool) -> dict[str, int]:
    return dict(zip(pool.classes.values_list("key", flat=True), pool.capacity, strict=False))


def memory_to_hold(mebibytes: int) -> int:
    """So much, or all that the default pool has: more would never be granted. Raises NoPool."""
    return min(mebibytes, capacity_of(default_pool()).get("memory", mebibytes))
