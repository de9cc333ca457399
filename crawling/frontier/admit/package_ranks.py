"""Ranks that the code of an installed package calculates."""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import NamedTuple

from django.db import connection

from crawling.frontier.run_lock import locked_run
from crawling.frontier.sql_rows import SentRows, read_rows
from crawling.machine.vitals import VITALS
from crawling.models import Run, UrlState
from crawling.orders.ranking import is_from_extension, rank_by_order

logger = logging.getLogger(__name__)

#: the seconds of a slow call, and the number of slow calls after which a package's order is no
#: longer called; a single one may be the fault of a page that keeps the interpreter busy
CALL_SECONDS, MOST_SLOW = 1.0, 3
#: the time for ranking seeds at the beginning of a shift; the remaining seeds are ranked by the
#: next shift
SEEDS_SECONDS = 2.0


class WaitingSeed(NamedTuple):
    id: int
    url: str


WAITING_SEEDS = f"""
SELECT id, url FROM crawling_url
WHERE run_id = %s AND depth = 0 AND state = '{UrlState.QUEUED}' AND rank = 0 ORDER BY id
"""  # noqa: S608  # a constant


class SeedRank(NamedTuple):
    id: int
    rank: float


SEED_RANKS = SentRows("new", SeedRank)
RANK_SEEDS = f"""
UPDATE crawling_url u SET rank = new.rank FROM {SEED_RANKS}
WHERE u.id = new.id AND u.state = '{UrlState.QUEUED}' AND u.rank <> new.rank
"""  # noqa: S608  # constants


class PackageRanks:
    """Calls a package's order. Does so only in a shift, since its worker ends the process if a call
    does not return. Elsewhere the depth is the rank.
    """

    def __init__(self) -> None:
        self.slow: Counter[str] = Counter()

    def rank(self, order: str, url: str, depth: int) -> float:
        """The rank by the package's order. The depth outside a shift, or if the order was too slow
        before.
        """
        if not VITALS.in_shift or self.slow[order] >= MOST_SLOW:
            return float(depth)
        began = time.monotonic()
        with VITALS.package_call():
            rank = rank_by_order(order, url, depth)
        seconds = time.monotonic() - began
        if seconds > CALL_SECONDS:
            self.slow[order] += 1
            logger.warning("the visit order %s took %.1f s for a URL", order, seconds)
        return rank


#: the ranks of this process
PACKAGE_RANKS = PackageRanks()


def rank_seeds(run: Run) -> None:
    """Rank waiting seeds, which were queued outside shifts, by a package's order. This happens
    before the run is locked, since a package may be slow.
    """
    order = run.crawl.visit_order
    if not is_from_extension(order):
        return
    with connection.cursor() as cursor:
        cursor.execute(WAITING_SEEDS, [run.pk])
        seeds = read_rows(cursor, WaitingSeed)
    ranks, until = [], time.monotonic() + SEEDS_SECONDS
    for seed in seeds:
        if time.monotonic() > until:
            break
        ranks.append(SeedRank(seed.id, PACKAGE_RANKS.rank(order, seed.url, 0)))
    if ranks:
        with locked_run(run.pk), connection.cursor() as cursor:
            cursor.execute(RANK_SEEDS, SEED_RANKS.values(ranks))
