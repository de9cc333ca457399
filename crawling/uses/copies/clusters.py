"""Clusters of pages with the same text, or nearly the same, within a run and between two runs.

The comparison uses only rows of pages: the digest of the content, and the simhash of the text. Near
pairs among a million simhashes are found without a comparison of all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from django.db import connection
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crawling.base.errors import CrawlError
from crawling.models import Page
from crawling.uses.copies.results import Cluster, Clusters, PageInCluster
from crawling.web.simhash import LEAST_BYTES, NEAR_BITS

#: the number of bands of a simhash: two simhashes that differ in NEAR_BITS bits have at least one
#: band in common
BANDS = NEAR_BITS + 1
BAND_BITS = 64 // BANDS
#: the most pairs with a common band; the job compares each of them
MOST_PAIRS = 100_000_000
#: the most pages of all runs together; their rows must fit into memory
MOST_PAGES = 2_000_000
#: the memory for the search: MiB for SciPy and any run, and bytes for each page
LEAST_MIB, BYTES_OF_A_PAGE = 64, 250
#: the number of a cluster's pages that are listed
LISTED = 10
SIMHASH_BITS = 64
#: the columns of a page: id, run, the first 64 bits of the content's SHA-256, simhash, depth, and
#: the number of characters of its address; the last two decide which page of a cluster is the best
PAGES = """
SELECT p.url_id, p.run_id, ('x' || encode(substring(p.digest FOR 8), 'hex'))::bit(64)::bigint,
    p.simhash, u.depth, length(u.url)
FROM crawling_page p JOIN crawling_url u ON u.id = p.url_id
WHERE p.run_id = ANY(%s) AND p.status BETWEEN 200 AND 299 AND p.digest IS NOT NULL
    AND p.bytes >= %s AND (p.simhash IS NOT NULL OR NOT %s)
LIMIT %s
"""


class TooManyNearCopies(CrawlError):
    """Too many pages have nearly the same text to compare them; choose smaller runs, or exact
    copies.
    """


def similar_pairs(simhashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The positions of both simhashes of each pair that differs in at most NEAR_BITS bits. A pair
    may occur more than once.

    simhashes: distinct, as int64. Raises TooManyNearCopies.
    """
    ones, others = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    bands = [_band_of_bits(simhashes, number) for number in range(BANDS)]
    sizes = [np.unique(band, return_counts=True)[1].astype(np.int64) for band in bands]
    if sum(int((size * (size - 1) // 2).sum()) for size in sizes) > MOST_PAIRS:
        raise TooManyNearCopies
    for band in bands:
        for one, other in _pairs_with_equal_band(band):
            is_near = np.bitwise_count(simhashes[one] ^ simhashes[other]) <= NEAR_BITS
            ones.append(one[is_near])
            others.append(other[is_near])
    return np.concatenate(ones), np.concatenate(others)


def _pairs_with_equal_band(band: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All pairs of positions with the same value."""
    order = np.argsort(band, kind="stable")
    ordered, first, apart = band[order], np.arange(len(band)), 1
    while (first := first[first < len(band) - apart]).size:
        first = first[ordered[first + apart] == ordered[first]]
        yield order[first], order[first + apart]
        apart += 1


def _band_of_bits(simhashes: np.ndarray, number: int) -> np.ndarray:
    found: np.ndarray = (simhashes >> (BAND_BITS * number)) & ((1 << BAND_BITS) - 1)
    return found


class TooManyPages(CrawlError):
    """The runs have more than 2 million pages together; choose smaller ones."""


def find_clusters(runs: Sequence[int], *, near: bool, skip: int, most: int) -> Clusters:
    """Clusters of pages of a run, or clusters with pages of each of two runs. skip: how many
    clusters, beginning with the largest, are left out.

    near: whether pages whose simhashes differ in a few bits count as copies. The best page of a
    cluster is the one with the least depth, then with the shortest address, then with the lowest
    id. Raises TooManyPages, TooManyNearCopies.
    """
    pages = _read_pages(runs, near)
    labels = _cluster_numbers(pages, near)
    sizes = np.bincount(labels, minlength=1)
    is_cluster = sizes > 1
    for run in runs:
        of_run = np.bincount(labels, pages[:, 1] == run, minlength=len(sizes))
        is_cluster &= of_run > 0
    found = np.flatnonzero(is_cluster)
    found = found[np.argsort(-sizes[found], kind="stable")]
    order = np.lexsort((pages[:, 0], pages[:, 5], pages[:, 4], labels))
    starts = np.searchsorted(labels[order], np.arange(len(sizes) + 1))
    shown = [pages[order[starts[one] : starts[one + 1]]] for one in found[skip : skip + most]]
    listed = _pages_in_clusters([_balanced_rows(rows, runs) for rows in shown])
    clusters = [
        Cluster(len(rows), pages) for rows, pages in zip(shown, listed, strict=True) if pages
    ]
    return Clusters(len(found), int(sizes[found].sum()), clusters)


def _read_pages(runs: Sequence[int], near: bool) -> np.ndarray:
    """A row for each page. The simhash is 0 if a page has none."""
    with connection.cursor() as cursor:
        cursor.execute(PAGES, [list(runs), LEAST_BYTES, near, MOST_PAGES + 1])
        rows = (tuple(value or 0 for value in row) for row in cursor)
        pages = np.fromiter(rows, np.dtype((np.int64, 6)))
    if len(pages) > MOST_PAGES:
        raise TooManyPages
    return pages


def _cluster_numbers(pages: np.ndarray, near: bool) -> np.ndarray:
    """The number of each page's cluster. A near copy of a near copy belongs to the same cluster."""
    digests = np.unique(pages[:, 2], return_inverse=True)[1]
    if not near or not len(pages):
        return digests
    simhashes, of_page = np.unique(pages[:, 3], return_inverse=True)
    ones, others = similar_pairs(simhashes)
    # the nodes of the graph are the simhashes and the digests; each page links its own two
    heads = np.concatenate([ones, of_page])
    tails = np.concatenate([others, digests + len(simhashes)])
    nodes = len(simhashes) + int(digests.max()) + 1
    graph = coo_array((np.ones(len(heads), bool), (heads, tails)), shape=(nodes, nodes))
    labels: np.ndarray = connected_components(graph, directed=False)[1][of_page]
    return labels


def _balanced_rows(rows: np.ndarray, runs: Sequence[int]) -> np.ndarray:
    """The best page, then further pages in the order of the rows, with as many of each run as
    possible.
    """
    places = np.zeros(len(rows), np.int64)
    for run in runs:
        of_run = rows[:, 1] == run
        places[of_run] = np.arange(int(of_run.sum()))
    return rows[np.argsort(places, kind="stable")[:LISTED]] if len(runs) > 1 else rows[:LISTED]


def _pages_in_clusters(clusters: Sequence[np.ndarray]) -> list[list[PageInCluster]]:
    ids = [int(row[0]) for rows in clusters for row in rows]
    stored = Page.objects.select_related("url", "run__crawl").in_bulk(ids)
    return [
        [
            _page_in_cluster(stored[int(row[0])], row, rows[0])
            for row in rows
            if int(row[0]) in stored  # a missing page was withdrawn or removed meanwhile
        ]
        for rows in clusters
    ]


def _page_in_cluster(page: Page, row: np.ndarray, best: np.ndarray) -> PageInCluster:
    differing = int(np.bitwise_count(row[3] ^ best[3]))
    return PageInCluster(
        page.pk,
        page.run.crawl_id,
        page.run.crawl.name,
        page.run.number,
        page.url.url,
        page.title[:200],
        page.bytes,
        SIMHASH_BITS - differing if row[3] and best[3] else None,
        is_exact=bool(row[2] == best[2]),
    )


def memory_mebibytes(question: Mapping[str, Any]) -> int:
    """The memory that the search takes, in MiB."""
    pages = Page.objects.filter(run__in=_runs_of_question(question)).count()
    return LEAST_MIB + min(pages, MOST_PAGES) * BYTES_OF_A_PAGE // 2**20


def answer_clusters(question: Mapping[str, Any]) -> dict[str, Any]:
    runs = _runs_of_question(question)
    found = find_clusters(runs, near=question["near"], skip=question["skip"], most=question["most"])
    return asdict(found)


def _runs_of_question(question: Mapping[str, Any]) -> list[int]:
    return [run for run in (question["run"], question["against"]) if run]
