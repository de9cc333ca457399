"""Which pool a crawl runs in, and which share of it its team has."""

from __future__ import annotations

from typing import Any

from allocation.models import Pool, Share
from allocation.rules.shares import NO_LIMIT
from allocation.services import ensure_share
from crawling.errors import BadOrder, NoPool
from crawling.models import CrawlJob

#: what a pool knows the share of a team by
TEAM_REF = "team/"


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
    """The pool that a crawl's processes are registered in. Raises NoPool."""
    return pool_named(crawl.pool)


def capacity_of(pool: Pool) -> dict[str, int]:
    """Units that exist, by class."""
    return dict(zip(pool.classes.values_list("key", flat=True), pool.capacity, strict=False))


def share_limits(pool: Pool, team: str) -> dict[str, int]:
    """What a team may claim of a pool, by class; classes without a limit are left out."""
    share = Share.objects.filter(pool=pool, ref=f"{TEAM_REF}{team}").first() if team else None
    if share is None:
        return {}
    entries = zip(pool.classes.values_list("key", flat=True), share.limits, strict=False)
    return {key: limit for key, limit in entries if limit != NO_LIMIT}


def share_of(pool: Pool, team: str) -> int | None:
    """The share that the processes of a team's crawl have; a team has one from its first run on."""
    return ensure_share(pool=pool.pk, ref=f"{TEAM_REF}{team}", name=team).pk if team else None
