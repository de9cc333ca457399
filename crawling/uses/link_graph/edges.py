"""The graph of a run's pages and the links between them, as arrays.

Pages are read from the database, and links from the dataset, a slice of pages at a time. A link
takes eight bytes of memory.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from crawling.base.errors import CrawlError
from crawling.datasets.job_tables import JobTables
from crawling.datasets.parts import count_written_links
from crawling.datasets.query import columns_by_values
from crawling.models import Page, Run
from crawling.uses.link_graph.steps import Step, arrays_step, read_arrays

#: elements that lead from one page to another: links, frames, and those without a name, which are
#: redirects and the links of documents other than HTML. images and styles do not
LEADING = "element IN ('a', 'area', 'iframe', 'frame', '')"
#: the number of pages, and of links, that are read at a time; the last page may exceed the latter
SLICE, SLICE_LINKS = 20_000, 500_000
#: the least number of links that a page counts as, so that a slice has at most SLICE pages
LEAST_LINKS = SLICE_LINKS // SLICE
#: the most links of a run that are read; the arrays of more links would need several GB
MOST_LINKS = 60_000_000
#: the time limit for reading the links of a slice
SECONDS = 600.0
PAIRS = f"""
SELECT page_id, target_fingerprint FROM links
WHERE page_id BETWEEN $first AND $last AND {LEADING}
"""  # noqa: S608 - constants


class GraphTooLarge(CrawlError):
    """The run has more links than a link graph is computed of: 60 million."""


@dataclass(frozen=True)
class Edges:
    """The edges of a graph: each pair of different nodes once, by their numbers."""

    #: the number of nodes
    nodes: int
    #: ascending
    sources: np.ndarray
    targets: np.ndarray


def node_steps(graph: JobTables, run: Run) -> Generator[Step, None, np.ndarray]:
    """Read the stored pages of a run, which are the nodes. Return a row for each, in the order of
    ids: the id, the fingerprint of the address, and the number of links.

    Raises GraphTooLarge.
    """
    if count_written_links(run) > MOST_LINKS:
        raise GraphTooLarge
    slices: list[np.ndarray] = []
    after = 0
    while not slices or len(slices[-1]) == SLICE:
        name = f"nodes-{len(slices):05}"
        yield arrays_step(graph, name, partial(_next_nodes, run, after))
        slices.append(read_arrays(graph, name)["nodes"])
        after = int(slices[-1][-1, 0]) if len(slices[-1]) else after
    return np.concatenate(slices)


def _next_nodes(run: Run, after: int) -> dict[str, np.ndarray]:
    """The next pages. after: the id of the last page so far."""
    pages = Page.objects.filter(run=run, url__gt=after).order_by("url")
    rows = pages.values_list("url", "url__fingerprint", "links")[:SLICE]
    return {"nodes": np.fromiter(rows.iterator(), np.dtype((np.int64, 3)))}


def edge_steps(graph: JobTables, run: Run, nodes: np.ndarray) -> Generator[Step, None, Edges]:
    """Read the links between pages. Raises LinkSearchTookTooLong."""
    index = _NodeIndex(nodes[:, 0], nodes[:, 1])
    slices = list(page_slices(nodes))
    for number, ends in enumerate(slices):
        yield arrays_step(graph, f"edges-{number:05}", partial(_read_edges, run, index, ends))
    found = [read_arrays(graph, f"edges-{number:05}") for number in range(len(slices))]
    sources, targets = (
        np.concatenate([np.empty(0, np.int32), *(part[end] for part in found)])
        for end in ("sources", "targets")
    )
    return Edges(len(nodes), sources, targets)


class _NodeIndex:
    """Finds nodes by their ids, and by the fingerprints of their addresses."""

    def __init__(self, ids: np.ndarray, fingerprints: np.ndarray) -> None:
        self._ids = ids
        self._by_fingerprint = np.argsort(fingerprints)
        self._ordered = fingerprints[self._by_fingerprint]

    def edges(self, ids: np.ndarray, fingerprints: np.ndarray) -> dict[str, np.ndarray]:
        """The edges for links from pages with these ids: each pair of nodes once, in ascending
        order.
        """
        sources, is_page = _places_of_sorted(self._ids, ids)
        places, is_target = _places_of_sorted(self._ordered, fingerprints)
        targets = self._by_fingerprint[places]
        kept = is_page & is_target & (sources != targets)
        pairs = np.unique(sources[kept] * len(self._ids) + targets[kept])
        sources, targets = np.divmod(pairs, len(self._ids))
        return {"sources": sources.astype(np.int32), "targets": targets.astype(np.int32)}


def _read_edges(run: Run, index: _NodeIndex, ends: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The edges from some pages. ends: the first and the last id of these pages. The edges of
    successive slices ascend.
    """
    (found,) = columns_by_values(run, PAIRS, [ends], seconds=SECONDS)
    return index.edges(found["page_id"], found["target_fingerprint"])


def page_slices(nodes: np.ndarray) -> Iterator[dict[str, int]]:
    """The first and the last page id of each slice. A slice has at most SLICE pages, with about
    SLICE_LINKS links together.
    """
    numbers = np.cumsum(np.maximum(nodes[:, 2], LEAST_LINKS)) // SLICE_LINKS
    starts = np.unique(numbers, return_index=True)[1]
    for some in np.split(nodes[:, 0], starts[1:]):
        if len(some):
            yield {"first": int(some[0]), "last": int(some[-1])}


def _places_of_sorted(ordered: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each wanted value in the ordered array, and whether it is there.

    ordered: not empty.
    """
    places = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return places, ordered[places] == wanted
