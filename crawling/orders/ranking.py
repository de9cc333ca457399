"""Which of a host's URLs is visited next (SEEDS B3, B4, W15): the one of least rank, and among
equals the one found first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from crawling.web.expressions import read_expression

#: OPIC's credit (SEEDS W15): all of it is the seeds'. It is never made and never lost: what a page
#: spends goes to its links and to the Lambda page. Pages that many pages lead to collect it, and
#: traps, which share theirs out among ever more of their own, run dry
START_CREDIT = 100.0
TAX = 0.1


class Order(StrEnum):
    """Orders of visits.

    Hosts take turns within it, and with batches of several URLs so do those of a host, unless the
    order is to be exact (`exact_order`).
    """

    BREADTH_FIRST = "breadth_first"
    DEPTH_FIRST = "depth_first"
    BEST_FIRST = "best_first"
    OPIC = "opic"

    @property
    def counts_links(self) -> bool:
        """Whether a link matters to its target even if that is known."""
        return self in {Order.BEST_FIRST, Order.OPIC}


@dataclass
class LambdaPage:
    """The page that is nowhere and leads everywhere."""

    credit: float = 0.0
    #: its total so far for a page that has waited from the start. A page's credit is the level less
    #: its rank, so to give every waiting page the same is to raise one number, and no row has to be
    #: written
    level: float = 0.0

    def spread(self, pages: int) -> None:
        """Share all credit among the waiting pages, which are so many."""
        self.level += self.credit / pages
        self.credit = 0.0

    def spend(self, credit: float, links: int) -> float:
        """Take a crawled page's credit, and return the share of each of its links.

        A page without links leaves all to Lambda.
        """
        if not links:
            self.credit += credit
            return 0.0
        self.credit += TAX * credit
        return (1 - TAX) * credit / links


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks for the URLs of one run.

    What links give to a URL is its gain: in best-first their number, in OPIC the credit that they
    carry.
    """

    order: Order
    links_weight: float = 1.0
    url_weight: float = 1.0
    importance: Mapping[str, float] | None = None
    #: OPIC's (`LambdaPage.level`)
    level: float = 0.0

    def rank(self, url: str, depth: int, gain: float) -> float:
        """The rank of a URL that was found at a depth and has gained so much.

        Depth first, nothing lies deeper than the page just read but its own links, so the deepest
        URL is always one of those.
        """
        match self.order:
            case Order.BREADTH_FIRST:
                return float(depth)
            case Order.DEPTH_FIRST:
                return float(-depth)
            case Order.BEST_FIRST:
                return -self.weight(url, gain)
            case Order.OPIC:
                return self.level - gain

    def weight(self, url: str, links: float) -> float:
        """SEEDS B4's I(P) of a URL that so many pages link to, whatever the order of visits."""
        return self.links_weight * links + self.url_weight * importance_of(
            url, self.importance or {}
        )

    @property
    def step(self) -> float:
        """By how much the rank falls with each unit gained."""
        return self.links_weight if self.order is Order.BEST_FIRST else 1.0

    @property
    def endowment(self) -> float:
        """What a seed has gained before anything links to it."""
        return START_CREDIT if self.order is Order.OPIC else 0.0


def importance_of(url: str, weights: Mapping[str, float]) -> float:
    """SEEDS B4's IL: the rank by the URL alone."""
    return sum(weight for text, weight in weights.items() if read_expression(text).search(url))
