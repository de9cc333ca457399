"""Findings about copies, as jobs store them and pages and programs show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PageInCluster:
    """A page of a cluster; the first is its best."""

    id: int
    crawl: int
    crawl_name: str
    run: int
    url: str
    title: str
    bytes: int
    #: bits of its simhash that are as the best page's, of 64; None: one of the two has too little
    #: text
    equal_bits: int | None
    #: whether its content is the same as the best page's
    is_exact: bool


@dataclass(frozen=True)
class Cluster:
    """Pages of which each is a copy of another of them."""

    #: how many they are; the first are listed
    size: int
    pages: Sequence[PageInCluster]


@dataclass(frozen=True)
class Clusters:
    """The clusters of some runs, the largest first."""

    count: int
    #: pages in all clusters together
    pages: int
    clusters: Sequence[Cluster]


@dataclass(frozen=True)
class PageWithText:
    id: int
    url: str
    title: str
    #: as `SharedText` has them
    similarity: float
    shared_words: int


@dataclass(frozen=True)
class Passage:
    """A passage of both texts, or the two that differ."""

    is_shared: bool
    one: str
    other: str


@dataclass(frozen=True)
class SharedText:
    """Two texts side by side, in the order in which both have what they share."""

    #: of all words of both, the share that is in shared passages; 1: the texts are the same
    similarity: float
    #: words in shared passages, of each of the texts
    shared_words: int
    passages: Sequence[Passage]
