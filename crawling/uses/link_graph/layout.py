"""Where the nodes of a drawing stand: by the forces of Fruchterman and Reingold (1991), which
rustworkx computes.
"""

from __future__ import annotations

import math

import numpy as np
import rustworkx

from crawling.uses.link_graph.drawings import Lines

#: the same drawing comes out each time
SEED = 20
STEPS = 150
#: of what stands beneath the others, since no line leads to it; as few columns as FEW have room
#: for names
COLUMNS, FEW_COLUMNS, FEW, ROW = 30, 5, 25, 0.05
#: how much of a place is its rank among the others: it spreads what is crowded
SPREAD = 0.6


def positions(nodes: int, lines: Lines) -> np.ndarray:
    """A row of each node: x and y between 0 and 1.

    300 nodes take about a tenth of a second of a processor.
    """
    found = np.zeros((nodes, 2))
    is_joined = np.zeros(nodes, bool)
    is_joined[lines.ones] = is_joined[lines.others] = True
    alone, joined = np.flatnonzero(~is_joined), np.flatnonzero(is_joined)
    columns = FEW_COLUMNS if len(alone) <= FEW else COLUMNS
    height = 1 - ROW * (math.ceil(len(alone) / columns) + (0.5 if len(joined) else 0))
    height = max(height, 0.4)
    if len(joined):
        found[joined] = _spread(_by_forces(joined, lines)) * (1, height if len(alone) else 1)
    top = height + ROW if len(joined) else 0.5
    rows, places = np.divmod(np.arange(len(alone)), columns)
    found[alone] = np.stack([(places + 0.2) / columns, np.minimum(top + rows * ROW, 1)], axis=1)
    return found


def _by_forces(joined: np.ndarray, lines: Lines) -> np.ndarray:
    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from([None] * len(joined))
    ones, others = np.searchsorted(joined, lines.ones), np.searchsorted(joined, lines.others)
    strengths = 1 + np.log10(lines.links)
    graph.extend_from_weighted_edge_list(
        list(zip(ones.tolist(), others.tolist(), strengths.tolist(), strict=True))
    )
    placed = rustworkx.spring_layout(graph, num_iter=STEPS, weight_fn=float, seed=SEED)
    return np.array([placed[node] for node in range(len(joined))])


def _spread(places: np.ndarray) -> np.ndarray:
    """The places between 0 and 1, a part of each by its rank."""
    low, span = places.min(axis=0), np.maximum(np.ptp(places, axis=0), 1e-9)
    ranks = places.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    by_rank = (ranks + 0.5) / len(places)
    found: np.ndarray = by_rank * SPREAD + (places - low) / span * (1 - SPREAD)
    return found
