"""Findings about copies, as jobs store them and pages and programs show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from serving.listing.columns import Column

SIMILARITY = "share of the words of both, in shared passages"


@dataclass(frozen=True)
class PageInCluster:
    """A page of a cluster. The first page is the best."""

    id: int
    crawl: int
    crawl_name: str
    run: int
    url: str
    title: str
    bytes: int
    equal_bits: Annotated[
        int | None,
        Column(
            "of the 64 of its simhash, those that are as the best page's; null: one of the two has "
            "too little text"
        ),
    ]
    is_exact: Annotated[bool, Column("its content is the best page's")]


@dataclass(frozen=True)
class Cluster:
    """Pages that are copies of each other."""

    size: Annotated[int, Column("pages in it, of which ten are listed")]
    pages: Annotated[
        Sequence[PageInCluster],
        Column(
            "the best first: with the fewest links from the seeds, of such with the shortest "
            "address"
        ),
    ]


@dataclass(frozen=True)
class Clusters:
    """The clusters of some runs, the largest first."""

    count: int
    #: the number of pages in all clusters together
    pages: int
    clusters: Sequence[Cluster]


@dataclass(frozen=True)
class PageWithText:
    id: int
    url: str
    title: str
    similarity: Annotated[float, Column(SIMILARITY)]
    shared_words: int


@dataclass(frozen=True)
class Passage:
    """A passage that both texts share, or the two different passages between shared ones."""

    is_shared: bool
    one: str
    other: str


@dataclass(frozen=True)
class SharedText:
    """Two texts side by side, divided into shared and different passages."""

    similarity: Annotated[float, Column(SIMILARITY)]
    shared_words: Annotated[int, Column("words in shared passages, of each of the texts")]
    passages: Sequence[Passage]
