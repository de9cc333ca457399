"""PageRank, hubs and authorities, and connected components of a graph, computed by SciPy."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, bicgstab, svds

from crawling.base.errors import CrawlError
from crawling.uses.link_graph.edges import Edges

#: the kinds of connected components
KINDS = ("weak", "strong")
#: the probability with which a random surfer follows a link (Page, Brin, Motwani, Winograd 1999)
DAMPING = 0.85
#: the largest error of any rank, relative to the largest rank
TOLERANCE = 1e-8
#: the steps of the solution in one call, which takes two seconds of processor time for ten million
#: edges, and the most steps in total
STEPS, MOST_STEPS = 3, 500
#: the tolerance of the singular value for hubs and authorities, and the most restarts
HITS_TOLERANCE, MOST_RESTARTS = 1e-6, 300


class RanksNotFound(CrawlError):
    """The equations of PageRank were not solved in 500 steps."""


def find_components(edges: Edges, kind: str) -> dict[str, np.ndarray]:
    """For each node, the number of its connected component of the given kind, one of KINDS. The
    largest component has the number 1.
    """
    if not edges.nodes:
        return {kind: np.empty(0, np.int64)}
    _, labels = connected_components(_link_matrix(edges), directed=True, connection=kind)
    return {kind: _numbered_by_size(labels)}


def _link_matrix(edges: Edges) -> csr_array:
    starts = np.zeros(edges.nodes + 1, np.int64)
    np.cumsum(np.bincount(edges.sources, minlength=edges.nodes), out=starts[1:])
    ones = np.ones(len(edges.sources), np.float32)
    shape = (edges.nodes, edges.nodes)
    return csr_array((ones, edges.targets, starts.astype(np.int32)), shape=shape)


def pagerank(edges: Edges, start: np.ndarray) -> dict[str, np.ndarray]:
    """The PageRank of each node, up to a factor, after at most STEPS steps. `is_found` says whether
    it has converged. It is the solution of a linear system in which nodes without links lead
    nowhere (Del Corso, Gulli, Romani 2005).

    start: the previous result, or ones at first.
    """
    if not edges.nodes:
        return {"pagerank": start, "is_found": np.array(True)}
    matrix = _link_matrix(edges)
    share = DAMPING / np.maximum(np.diff(matrix.indptr), 1)
    incoming = matrix.T

    def next_ranks(ranks: np.ndarray) -> np.ndarray:
        changed: np.ndarray = ranks - incoming @ (share * ranks)
        return changed

    system = LinearOperator(matrix.shape, matvec=next_ranks, dtype=np.float64)
    ones = np.ones(edges.nodes)
    ranks, unsolved = bicgstab(system, ones, x0=start, rtol=TOLERANCE, maxiter=STEPS)
    return {"pagerank": ranks, "is_found": np.array(not unsolved)}


def hubs_and_authorities(edges: Edges) -> dict[str, np.ndarray]:
    """The hub and authority values of all nodes, which are the first singular vectors (Kleinberg
    1999). Each vector sums to 1, or is zero if there are no edges or no solution is found.

    The search begins with equal hubs. If there are several solutions, it finds the one to which
    repeated steps from there lead.
    """
    hubs, authorities = np.zeros(edges.nodes), np.zeros(edges.nodes)
    if len(edges.sources):
        start = np.ones(edges.nodes, np.float32)
        system = _link_matrix(edges)
        with suppress(ArpackNoConvergence):
            vectors, _, others = svds(
                system, k=1, v0=start, tol=HITS_TOLERANCE, maxiter=MOST_RESTARTS, solver="arpack"
            )
            hubs, authorities = np.abs(vectors[:, 0]), np.abs(others[0])
            hubs, authorities = hubs / hubs.sum(), authorities / authorities.sum()
    return {"hub": hubs, "authority": authorities}


def _numbered_by_size(labels: np.ndarray) -> np.ndarray:
    """The components, numbered from 1, the largest first. Equally large ones are ordered by their
    first node.
    """
    sizes = np.bincount(labels)
    first = np.full(len(sizes), len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    numbers = np.empty(len(sizes), np.int64)
    numbers[np.lexsort((first, -sizes))] = np.arange(1, len(sizes) + 1)
    found: np.ndarray = numbers[labels]
    return found
