"""The choice of the next URL of a host (SEEDS B3, B4, W15): the URL with the least rank, and among
equal ones the one found first.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import isfinite
from typing import Any

from crawling.web.expressions import read_expression
from crawling.web.extensions import BadExtension, ExtensionPoint

logger = logging.getLogger(__name__)

#: the name of an order of visits, short enough for its column
NAME = re.compile(r"[a-z][a-z0-9_]{0,19}")
MOST_LABEL = 100
#: the total credit in OPIC (SEEDS W15), which the seeds have at first. Credit is neither created
#: nor lost: a page spends it on its links and the Lambda page. Pages with many links to them
#: collect credit, while traps, which divide theirs among ever more of their own pages, lose it
START_CREDIT = 100.0
TAX = 0.1


class Order(StrEnum):
    """Orders of visits.

    Hosts take turns within an order, in batches of several URLs, unless the order is to be exact
    (`exact_order`).
    """

    BREADTH_FIRST = "breadth_first"
    DEPTH_FIRST = "depth_first"
    BEST_FIRST = "best_first"
    OPIC = "opic"
    FOCUSED = "focused"

    @property
    def LABEL(self) -> str:
        """The effect of the order of visits, in words for operators."""
        return LABELS[self]

    def rank(self, _url: str, depth: int) -> float:
        """The rank of a URL without gains; `Ranking` adds the gains from links.

        In depth first, only a page's own links are deeper than the page, so after reading it the
        deepest URL is one of its links.
        """
        return float(-depth if self is Order.DEPTH_FIRST else depth)


LABELS = {
    Order.BREADTH_FIRST: "Breadth first: near the start before far from it",
    Order.DEPTH_FIRST: "Depth first: the links of the page just read before all others",
    Order.BEST_FIRST: "Best first: what most pages link to, and what looks important",
    Order.OPIC: "OPIC: pages collect credit from those that link to them, and traps run dry",
    Order.FOCUSED: "Focused: what is most like a topic, by links and the pages before them",
}
OURS = frozenset(order.value for order in Order)
#: orders of visits in which a link matters to its target even if the target is known
COUNTS_LINKS = frozenset({Order.BEST_FIRST, Order.OPIC, Order.FOCUSED})


@dataclass(frozen=True, slots=True)
class VisitOrder:
    """An order of visits, which decides which of a host's URLs is next."""

    #: the label, in words for operators
    label: str
    #: returns the rank, by URL and depth; the URL with the least rank is next
    rank: Callable[[str, int], float]


def _visit_order_of_module(name: str, module: Any, _others: Mapping[str, VisitOrder]) -> VisitOrder:
    """Take in a module with LABEL and `rank`."""
    if not NAME.fullmatch(name):
        raise BadExtension("its name has 20 small letters, digits and underscores at the most")
    label, rank = getattr(module, "LABEL", None), getattr(module, "rank", None)
    if not (isinstance(label, str) and 0 < len(label) <= MOST_LABEL and callable(rank)):
        raise BadExtension("it needs LABEL, one line of text, and rank, a function")
    return VisitOrder(" ".join(label.split()), rank)


VISIT_ORDERS = ExtensionPoint(
    "crawlsite.visit_orders",
    {order.value: f"crawling.orders.ranking:Order.{order.name}" for order in Order},
    _visit_order_of_module,
)


def is_from_extension(name: str) -> bool:
    """Whether the code of an installed package calculates the ranks of an order of visits."""
    return name not in OURS


def rank_by_order(name: str, url: str, depth: int) -> float:
    """The rank by an order of visits alone. If the order is not available, fails, or returns no
    number, the depth is the rank.
    """
    order = VISIT_ORDERS.get(name)
    try:
        rank = float(order.rank(url, depth)) if order else float(depth)
    except Exception as error:  # the code of a package may raise anything
        _log_fault(name, f"{type(error).__name__}: {error}"[:200])
        return float(depth)
    return rank if isfinite(rank) else float(depth)


@lru_cache(maxsize=32)
def _log_fault(name: str, fault: str) -> None:
    """Log a fault, once in the life of a process."""
    logger.warning("the visit order %s failed: %s", name, fault)


@dataclass
class LambdaPage:
    """The virtual page that links to all pages."""

    credit: float = 0.0
    #: the total credit so far of a page that has waited from the start. A page's credit is the
    #: level minus its rank. So giving the same credit to all waiting pages raises only this number,
    #: and no row has to be written
    level: float = 0.0

    def divide_credit(self, pages: int) -> None:
        """Divide all credit among the waiting pages. pages: the number of waiting pages."""
        self.level += self.credit / pages
        self.credit = 0.0

    def spend(self, credit: float, links: int) -> float:
        """Take the credit of a crawled page. Return the share of each of its links.

        A page without links leaves all of it to the Lambda page.
        """
        if not links:
            self.credit += credit
            return 0.0
        self.credit += TAX * credit
        return (1 - TAX) * credit / links


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks for the URLs of one run.

    The gain of a URL comes from the links to it: in best-first their number, in OPIC the credit
    that they carry, in a focused crawl the greatest expected similarity to the topic.
    """

    #: the name of an order of visits
    order: str
    links_weight: float = 1.0
    url_weight: float = 1.0
    importance: Mapping[str, float] | None = None
    #: OPIC's (`LambdaPage.level`)
    level: float = 0.0
    #: returns the rank, by the name of an order of visits, URL and depth
    rank_alone: Callable[[str, str, int], float] = rank_by_order

    def rank(self, url: str, depth: int, gain: float) -> float:
        """The rank of a URL that was found at a depth and has gained `gain`."""
        if self.order == Order.BEST_FIRST:
            return -self.weight(url, gain)
        if self.order == Order.OPIC:
            return self.level - gain
        if self.order == Order.FOCUSED:
            return -gain
        return self.rank_alone(self.order, url, depth)

    @property
    def counts_links(self) -> bool:
        """Whether a link matters to its target even if the target is known."""
        return self.order in COUNTS_LINKS

    def weight(self, url: str, links: float) -> float:
        """SEEDS B4's I(P) for a URL with `links` links to it, whatever the order of visits."""
        return self.links_weight * links + self.url_weight * importance_of(
            url, self.importance or {}
        )

    @property
    def step(self) -> float:
        """The amount by which the rank falls with each unit gained."""
        return self.links_weight if self.order == Order.BEST_FIRST else 1.0

    @property
    def endowment(self) -> float:
        """The gain of a seed before any page links to it."""
        if self.order == Order.FOCUSED:
            return 1.0
        return START_CREDIT if self.order == Order.OPIC else 0.0


def importance_of(url: str, weights: Mapping[str, float]) -> float:
    """SEEDS B4's IL: the importance by the URL alone."""
    return sum(weight for text, weight in weights.items() if read_expression(text).search(url))
