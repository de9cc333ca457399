"""Which of a host's URLs is visited next (SEEDS B3): the one of least rank, and among equals the one found first."""

from __future__ import annotations

from enum import StrEnum


class Order(StrEnum):
    """Orders of visits. Exact on one host with batches of one URL; more hosts and larger batches take turns within it."""

    BREADTH_FIRST = "breadth_first"
    DEPTH_FIRST = "depth_first"


def rank_of(order: Order, depth: int) -> float:
    """A URL's rank, known once it is found.

    Depth first, nothing lies deeper than the page just read but its own links, so the deepest URL is always one of those.
    """
    return float(-depth if order is Order.DEPTH_FIRST else depth)
