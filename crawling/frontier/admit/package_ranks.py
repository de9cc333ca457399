"""Ranks that the code of an installed package calculates."""

from __future__ import annotations

import logging
import time

from crawling.orders.ranking import rank_by
from crawling.process.vitals import VITALS

logger = logging.getLogger(__name__)

#: an order that took longer for a URL is not asked any more
CALL_SECONDS = 1.0


class PackageRanks:
    """Asks a package only in a shift, whose worker ends the process if a call does not return. What
    is scheduled elsewhere, such as the seeds of a start, is ranked when a shift begins.
    """

    def __init__(self) -> None:
        self.too_slow: set[str] = set()

    def rank(self, order: str, url: str, depth: int) -> float:
        """The depth outside of a shift, and where the order took too long before."""
        if not VITALS.in_shift or order in self.too_slow:
            return float(depth)
        began = time.monotonic()
        with VITALS.calling():
            rank = rank_by(order, url, depth)
        seconds = time.monotonic() - began
        if seconds > CALL_SECONDS:
            self.too_slow.add(order)
            logger.warning("the visit order %s took %.1f s for a URL: depths rank", order, seconds)
        return rank


#: of this process
PACKAGE_RANKS = PackageRanks()
