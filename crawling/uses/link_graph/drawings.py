"""The hosts that each drawing of the host graph shows, singly or as a group that can be opened.

A drawing has at most MOST_NODES nodes. If there are more hosts, the hosts of each domain become one
node, except for the first domains whose hosts fit. If there are more domains, the last ones become
one node, the rest. Domains are ordered by their host with the most links. The hosts of each such
node have a separate drawing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

import numpy as np

#: names of domains, or of hosts, with the hosts of each
Groups = list[tuple[str, list[int]]]
MOST_NODES = 300
#: the most lines of a drawing, those with the most links; a browser would show more lines as a
#: black spot
MOST_LINES = 600


class NodeKind(StrEnum):
    HOST = "host"
    DOMAIN = "domain"
    REST = "rest"


@dataclass(frozen=True)
class Node:
    """A node of a drawing: a host, the hosts of a domain, or all other hosts."""

    kind: NodeKind
    #: the name of the host or domain; empty for all other hosts
    name: str
    #: the numbers of its hosts, those with the most links first
    hosts: Sequence[int]
    #: the number of the drawing of its hosts; None for a single host
    opens: int | None = None


@dataclass(frozen=True)
class Lines:
    """Pairs of nodes or hosts, by number, with the number of links that join each pair."""

    ones: np.ndarray
    others: np.ndarray
    links: np.ndarray

    def where(self, wanted: np.ndarray | slice) -> Lines:
        return Lines(self.ones[wanted], self.others[wanted], self.links[wanted])


@dataclass(frozen=True)
class Drawing:
    """A drawing with its number. Number 0 is the drawing of all hosts."""

    number: int
    nodes: Sequence[Node]


@dataclass(frozen=True)
class Hosts:
    names: Sequence[str]
    #: the registrable domain of each host; empty if it has none
    domains: Sequence[str]


def draw_hosts(hosts: Hosts, order: Sequence[int]) -> Iterator[Drawing]:
    """All drawings of a graph, by number.

    order: all hosts, beginning with those that have the most links.
    """
    waiting: deque[tuple[int, Sequence[int], Groups | None]] = deque([(0, order, None)])
    known = 1
    while waiting:
        number, members, groups = waiting.popleft()
        nodes, rest = _drawn_nodes(hosts, members, groups, known)
        yield Drawing(number, nodes)
        for node in nodes:
            if node.opens is not None:
                waiting.append(
                    (node.opens, node.hosts, rest if node.kind == NodeKind.REST else None)
                )
                known += 1


def _drawn_nodes(
    hosts: Hosts, members: Sequence[int], groups: Groups | None, number: int
) -> tuple[list[Node], Groups | None]:
    """The nodes, and the groups in the last node if that stands for several.

    groups: the groups of the members, if known. number: the number of the first drawing that a node
    opens.
    """
    if len(members) <= MOST_NODES:
        return [Node(NodeKind.HOST, hosts.names[host], [host]) for host in members], None
    groups = groups or list(_group_hosts(hosts, members))
    room = MOST_NODES - len(groups)
    rest = groups[MOST_NODES - 1 :] if room < 0 else []
    nodes = []
    for name, some in groups[: MOST_NODES - 1] if rest else groups:
        if len(some) - 1 <= max(room, 0):
            room -= len(some) - 1
            nodes += [Node(NodeKind.HOST, hosts.names[host], [host]) for host in some]
        else:
            nodes.append(Node(NodeKind.DOMAIN, name, some, number))
            number += 1
    if rest:
        others = list(chain.from_iterable(some for _, some in rest))
        nodes.append(Node(NodeKind.REST, "", others, number))
    return nodes, rest if len(rest) > 1 else None


def _group_hosts(hosts: Hosts, members: Sequence[int]) -> Iterator[tuple[str, list[int]]]:
    """The hosts of each domain, beginning with the domain whose host has the most links. If there
    is only one domain, each host by itself.
    """
    groups: dict[str, list[int]] = {}
    for host in members:
        groups.setdefault(hosts.domains[host] or hosts.names[host], []).append(host)
    if len(groups) > 1:
        yield from groups.items()
    else:
        yield from ((hosts.names[host], [host]) for host in members)


class HostNodes:
    """The drawing in which each host is a separate node, and the paths between drawings."""

    def __init__(self, hosts: int, drawings: Iterable[Drawing]) -> None:
        self._drawings, self._nodes = (np.zeros(hosts, np.int64) for _ in range(2))
        #: for each drawing, the drawing that opens it, its node there, and the number of links to
        #: it
        above: dict[int, tuple[int, int, int]] = {0: (0, 0, 0)}
        for one in drawings:
            depth = above[one.number][2] + 1
            for at, node in enumerate(one.nodes):
                if node.opens is None:
                    self._drawings[node.hosts], self._nodes[node.hosts] = one.number, at
                else:
                    above[node.opens] = one.number, at, depth
        rows = [above[number] for number in range(len(above))]
        self._parents, self._places, self._depths = np.array(rows, np.int64).T

    def pairs(self, lines: Lines) -> dict[str, np.ndarray]:
        """The pairs of nodes that lines between hosts join, in ascending order, as `lines_of` reads
        them, with the number of links of each. A line joins nodes of one drawing: the last one that
        leads to both of its hosts.
        """
        ends = [(self._drawings[hosts], self._nodes[hosts]) for hosts in (lines.ones, lines.others)]
        (drawings, ones), (others_drawings, others) = ends
        apart = np.flatnonzero(drawings != others_drawings)
        while len(apart):
            depths = self._depths[drawings[apart]], self._depths[others_drawings[apart]]
            self._replace_by_parents(drawings, ones, apart[depths[0] >= depths[1]])
            self._replace_by_parents(others_drawings, others, apart[depths[0] <= depths[1]])
            apart = apart[drawings[apart] != others_drawings[apart]]
        is_drawn = ones != others
        low, high = np.minimum(ones, others), np.maximum(ones, others)
        pairs = (drawings << 32 | low << 16 | high)[is_drawn]
        found, which = np.unique(pairs, return_inverse=True)
        sums = np.bincount(which, lines.links[is_drawn], len(found)).astype(np.int64)
        return {"pair": found, "links": sums}

    def _replace_by_parents(self, drawings: np.ndarray, nodes: np.ndarray, at: np.ndarray) -> None:
        """Go to the node that opens a drawing, in the drawing above it."""
        nodes[at] = self._places[drawings[at]]
        drawings[at] = self._parents[drawings[at]]


def lines_of(drawing: int, pairs: np.ndarray, links: np.ndarray) -> Lines:
    """All lines of a drawing, with each pair of nodes once."""
    first, end = np.searchsorted(pairs, [drawing << 32, (drawing + 1) << 32])
    nodes = pairs[first:end] & 0xFFFFFFFF
    return Lines(nodes >> 16, nodes & 0xFFFF, links[first:end])


def heaviest_lines(lines: Lines) -> Lines:
    """The lines that a drawing shows, beginning with the most links."""
    return lines.where(np.argsort(-lines.links, kind="stable")[:MOST_LINES])
