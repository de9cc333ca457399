"""The steps that draw the graph of hosts. For each drawing, links are added up by the nodes that
they join. Then drawings are laid out by the forces of Fruchterman and Reingold (1991), which
rustworkx computes.

Adding up the links of a large graph takes seconds, which a turn may not have. So this is done slice
by slice, and the drawing reads the sums.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import rustworkx

from crawling.datasets.job_tables import JobTables
from crawling.datasets.parquet import put_query
from crawling.uses.link_graph.drawings import (
    Drawing,
    HostNodes,
    Hosts,
    Lines,
    draw_hosts,
    heaviest_lines,
    lines_of,
)
from crawling.uses.link_graph.host_graph import SLICE, drawn_hosts, sum_pairs
from crawling.uses.link_graph.steps import Step, arrays_step, merge_step, read_arrays, slice_file

#: a fixed seed, so that the same drawing results each time
SEED = 20
STEPS = 150
#: the grid of nodes without lines, below the others: its columns and the distance of its rows; with
#: few nodes there are few columns, so that names fit
COLUMNS, FEW_COLUMNS, FEW, ROW = 30, 5, 25, 0.05
#: the weight of a node's rank among the others in its position, which spreads crowded nodes
SPREAD = 0.6
#: the name of the file with the sums of links
SUMS = "drawn-sums"
#: the number of drawings that are laid out in a step, which takes two seconds of a processor at
#: most
DRAWINGS = 20
NODE_COLUMNS = (
    *("drawing", "node", "kind", "name", "hosts", "pages"),
    *("in_links", "out_links", "opens", "x", "y", "joined"),
)
#: `opens`: the number of the drawing of the node's hosts, 0 for none. `joined`: the number of pairs
#: of nodes that are joined in the whole drawing
DRAWN_NODES = """
SELECT drawing, node, kind::VARCHAR AS kind, name::VARCHAR AS name, hosts, pages, in_links,
    out_links, opens, x, y, joined
FROM given ORDER BY drawing, node
"""
DRAWN_LINES = """
SELECT drawing, ones AS one, others AS other, links FROM given ORDER BY drawing, links DESC
"""


def positions(nodes: int, lines: Lines) -> np.ndarray:
    """A row for each node: x and y, between 0 and 1.

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
        found[joined] = _spread_positions(_spring_layout(joined, lines)) * (
            1,
            height if len(alone) else 1,
        )
    top = height + ROW if len(joined) else 0.5
    rows, places = np.divmod(np.arange(len(alone)), columns)
    found[alone] = np.stack([(places + 0.2) / columns, np.minimum(top + rows * ROW, 1)], axis=1)
    return found


def _spring_layout(joined: np.ndarray, lines: Lines) -> np.ndarray:
    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from([None] * len(joined))
    ones, others = np.searchsorted(joined, lines.ones), np.searchsorted(joined, lines.others)
    strengths = 1 + np.log10(lines.links)
    graph.extend_from_weighted_edge_list(
        list(zip(ones.tolist(), others.tolist(), strengths.tolist(), strict=True))
    )
    placed = rustworkx.spring_layout(graph, num_iter=STEPS, weight_fn=float, seed=SEED)
    return np.array([placed[node] for node in range(len(joined))])


def _spread_positions(places: np.ndarray) -> np.ndarray:
    """The positions between 0 and 1, determined in part by rank."""
    low, span = places.min(axis=0), np.maximum(np.ptp(places, axis=0), 1e-9)
    ranks = places.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    by_rank = (ranks + 0.5) / len(places)
    found: np.ndarray = by_rank * SPREAD + (places - low) / span * (1 - SPREAD)
    return found


class _DrawnHosts:
    """The hosts of a graph whose table already exists."""

    def __init__(self, graph: JobTables) -> None:
        rows = drawn_hosts(graph)
        names, domains, *counts = zip(*rows, strict=True) if rows else ([], [], [])
        self.hosts, self.number = Hosts(names, domains), len(rows)
        #: for each host, the number of its pages, and of links to it and from it
        self.counts = np.array(counts)

    def drawings(self) -> Iterator[Drawing]:
        """The drawings, one after the other, since each contains all hosts to which it leads."""
        return draw_hosts(self.hosts, range(self.number))


def are_sums_needed(graph: JobTables) -> bool:
    """Whether the links are added up, so that the drawings no longer need them."""
    return arrays_step(graph, SUMS, dict).is_done


def sum_steps(graph: JobTables, lines: Lines) -> Iterator[Step]:
    """Add up the links, SLICE lines at a time.

    lines: the lines between hosts, by the hosts' positions in the table. Raises OSError.
    """
    drawn = _DrawnHosts(graph)
    places = HostNodes(drawn.number, drawn.drawings())
    starts = range(0, max(len(lines.links), 1), SLICE)
    for number, at in enumerate(starts):
        some = lines.where(slice(at, at + SLICE))
        yield arrays_step(graph, f"drawn-{number:05}", partial(places.pairs, some))
    yield arrays_step(graph, SUMS, partial(sum_pairs, graph, "drawn", len(starts)))


def drawing_steps(graph: JobTables) -> Iterator[Step]:
    """Lay out the drawings and store them. The sums already exist. Raises OSError."""
    drawn, found, files = _DrawnHosts(graph), read_arrays(graph, SUMS), 0
    drawings = drawn.drawings()
    while some := list(islice(drawings, DRAWINGS)):
        with_lines = [(one, lines_of(one.number, found["pair"], found["links"])) for one in some]
        file = slice_file(graph, "drawn_lines", files)
        yield Step(file, partial(_put_drawings, graph, files, with_lines, drawn.counts))
        files += 1
    yield merge_step(graph, "drawn_nodes", files)
    yield merge_step(graph, "drawn_lines", files)


def _put_drawings(
    graph: JobTables, number: int, drawings: Sequence[tuple[Drawing, Lines]], counts: np.ndarray
) -> None:
    """Store some drawings. number: the number of their files."""
    nodes: dict[str, list[Any]] = {name: [] for name in NODE_COLUMNS}
    drawn: dict[str, list[Any]] = defaultdict(list)
    for drawing, lines in drawings:
        shown = heaviest_lines(lines)
        _add_nodes(nodes, drawing, shown, joined=len(lines.links), counts=counts)
        for name, values in vars(shown).items():
            drawn[name] += values.tolist()
        drawn["drawing"] += [drawing.number] * len(shown.links)
    put_query(slice_file(graph, "drawn_nodes", number), DRAWN_NODES, _column_arrays(nodes))
    put_query(slice_file(graph, "drawn_lines", number), DRAWN_LINES, _column_arrays(drawn))


def _add_nodes(
    columns: dict[str, list[Any]],
    drawing: Drawing,
    shown: Lines,
    *,
    joined: int,
    counts: np.ndarray,
) -> None:
    places = positions(len(drawing.nodes), shown)
    for number, (node, (x, y)) in enumerate(zip(drawing.nodes, places.tolist(), strict=True)):
        pages, in_links, out_links = counts[:, node.hosts].sum(axis=1).tolist()
        row = {"drawing": drawing.number, "node": number, "kind": node.kind, "name": node.name}
        row |= {"hosts": len(node.hosts), "pages": pages, "opens": node.opens or 0, "x": x, "y": y}
        row |= {"in_links": in_links, "out_links": out_links, "joined": joined}
        for name in NODE_COLUMNS:
            columns[name].append(row[name])


def _column_arrays(columns: Mapping[str, Sequence[Any]]) -> dict[str, np.ndarray]:
    """The columns as arrays. Texts are objects, as DuckDB requires."""
    kinds = {"kind": object, "name": object, "x": float, "y": float}
    return {name: np.array(values, kinds.get(name, np.int64)) for name, values in columns.items()}
