"""The graphs of a run's links, as arrays: of its pages, and of the hosts of links.

Pages are read from the database, links from the dataset, a slice of pages at a time. Of a link
there are eight bytes in memory for the pages, and eight for the hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from crawling.errors import CrawlError
from crawling.links.parts import links_written
from crawling.links.query import each_columns
from crawling.models import Page, Run

#: What leads from a page to another: links, frames, and what has no element, which are redirects
#: and the links of documents that are no HTML. Images and styles lead nowhere.
LEADING = "element IN ('a', 'area', 'iframe', 'frame', '')"
#: pages are read so many at a time, and their links as many at a time; a page more may go beyond
SLICE, SLICE_LINKS = 20_000, 500_000
#: that a page counts for at least, so that a slice has at most SLICE pages
LEAST_LINKS = SLICE_LINKS // SLICE
#: links of a run that are read; of more the arrays would need several GB
MOST_LINKS = 60_000_000
#: further hosts count as one, whose name is empty
MOST_HOSTS = 300_000
#: for the links of a slice
SECONDS = 600.0
PAIRS = f"""
SELECT page_id, target_fingerprint FROM links
WHERE page_id BETWEEN $first AND $last AND {LEADING}
"""  # noqa: S608 - constants
HOST_PAIRS = f"""
SELECT split_part(split_part(page, '://', 2), '/', 1) AS host, target_host, count(*) AS links
FROM links WHERE page_id BETWEEN $first AND $last AND {LEADING}
GROUP BY host, target_host
"""  # noqa: S608 - constants


class GraphTooLarge(CrawlError):
    """The run has more links than a link graph is computed of: 60 million."""


@dataclass(frozen=True)
class Edges:
    """The edges of a graph: each pair of different nodes once, by number."""

    #: how many there are
    nodes: int
    #: ascending
    sources: np.ndarray
    targets: np.ndarray


@dataclass(frozen=True)
class PageEdges:
    """The graph of a run's pages."""

    #: of the page of each node, ascending
    ids: np.ndarray
    edges: Edges


@dataclass(frozen=True)
class HostEdges:
    """The graph of the hosts of pages, and of those that links lead to."""

    #: of the host of each node
    names: list[str]
    edges: Edges
    #: how many each edge stands for
    links: np.ndarray
    #: links of each host to itself
    inner: np.ndarray


def read_page_edges(run: Run) -> PageEdges:
    """The graph of a run's pages. Raises GraphTooLarge, LinkSearchTookTooLong."""
    if links_written(run) > MOST_LINKS:
        raise GraphTooLarge
    pages = _pages(run)
    ids, fingerprints = pages[:, 0], pages[:, 1]
    by_fingerprint = np.argsort(fingerprints)
    ordered = fingerprints[by_fingerprint]
    keys = [np.empty(0, np.int64)]
    for found in each_columns(run, PAIRS, _slices(pages), seconds=SECONDS):
        sources, is_page = _places(ids, found["page_id"])
        places, is_target = _places(ordered, found["target_fingerprint"])
        targets = by_fingerprint[places]
        kept = is_page & is_target & (sources != targets)
        keys.append(np.unique(sources[kept] * len(ids) + targets[kept]))
    return PageEdges(ids, _edges(len(ids), np.unique(np.concatenate(keys))))


def read_host_edges(run: Run, hosts: Iterable[str]) -> HostEdges:
    """The graph of the hosts of pages, and of those that links lead to.

    hosts: of the pages. Raises LinkSearchTookTooLong.
    """
    numbers: dict[str, int] = {}
    for host in hosts:
        _number(numbers, host)
    keys, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for found in each_columns(run, HOST_PAIRS, _slices(_pages(run)), seconds=SECONDS):
        sources, targets = (
            np.fromiter((_number(numbers, host) for host in found[end]), np.int64)
            for end in ("host", "target_host")
        )
        keys.append((sources << 32) | targets)
        counts.append(found["links"].astype(np.int64))
    pairs, places = np.unique(np.concatenate(keys), return_inverse=True)
    links = np.bincount(places, np.concatenate(counts), len(pairs)).astype(np.int64)
    sources, targets = pairs >> 32, pairs & 0xFFFFFFFF
    is_inner = sources == targets
    inner = np.zeros(len(numbers), np.int64)
    inner[sources[is_inner]] = links[is_inner]
    outer = sources[~is_inner] * len(numbers) + targets[~is_inner]
    return HostEdges(list(numbers), _edges(len(numbers), outer), links[~is_inner], inner)


def _number(numbers: dict[str, int], host: str) -> int:
    if host not in numbers and len(numbers) >= MOST_HOSTS:
        host = ""
    return numbers.setdefault(host, len(numbers))


def _pages(run: Run) -> np.ndarray:
    """A row of each page, by id: the id, the fingerprint of the address, the number of links."""
    pages = Page.objects.filter(run=run).order_by("url")
    rows = pages.values_list("url", "url__fingerprint", "links").iterator(chunk_size=SLICE)
    return np.fromiter(rows, np.dtype((np.int64, 3)))


def _slices(pages: np.ndarray) -> Iterator[dict[str, int]]:
    """The first and the last id of pages, SLICE at most, with about SLICE_LINKS links together."""
    numbers = np.cumsum(np.maximum(pages[:, 2], LEAST_LINKS)) // SLICE_LINKS
    starts = np.unique(numbers, return_index=True)[1]
    for some in np.split(pages[:, 0], starts[1:]):
        if len(some):
            yield {"first": int(some[0]), "last": int(some[-1])}


def _places(ordered: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each is in the ordered array, which is not empty, and whether it is there."""
    places = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return places, ordered[places] == wanted


def _edges(nodes: int, keys: np.ndarray) -> Edges:
    """keys: source * nodes + target of each pair, ascending."""
    sources, targets = np.divmod(keys, max(nodes, 1))
    return Edges(nodes, sources.astype(np.int32), targets.astype(np.int32))
