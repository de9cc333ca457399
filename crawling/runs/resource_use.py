"""The share of their units that running crawls use, as shifts measure it: now and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from allocation.services import note_use
from allocation.snapshot import PoolCard
from crawling.installation.pools import crawl_pools, default_classes
from crawling.models import Shift

#: the classes that `crawling.fetching.shift.grants` measures; a pool may have further ones
MEASURED = tuple(new.key for new in default_classes(1))


def use_by_pool() -> dict[int, dict[str, int]]:
    """Units in use in each pool of crawls, by class, as the live shifts stored them at most a
    second ago.
    """
    sums = {
        pool: Counter(dict.fromkeys(MEASURED, 0))
        for pool in crawl_pools().values_list("pk", flat=True)
    }
    live = Shift.objects.filter(ended_at=None).values_list("process__bank_process__pool", "used")
    for pool, used in live:
        if pool in sums:
            sums[pool].update(used)
    return {pool: dict(used) for pool, used in sums.items()}


def sample_use() -> None:
    note_use(use_by_pool())


def cards_with_use(cards: Sequence[PoolCard]) -> list[PoolCard]:
    used = use_by_pool() if cards else {}
    return [
        replace(
            card,
            resources=tuple(
                replace(row, in_use=used.get(card.id, {}).get(row.key)) for row in card.resources
            ),
        )
        for card in cards
    ]
