"""Which hosts each drawing of the graph of hosts shows, and which it shows as a group that opens.

A drawing has at most MOST_NODES nodes. If its hosts are more, those of a domain are one node, but
for the first domains whose hosts fit; of more domains the last are one node, the rest. Domains
stand in the order of their hosts with the most links. The hosts of each such node have a drawing of
their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

MOST_NODES = 300
#: lines of a drawing, those with the most links; of more a browser shows a black spot
MOST_LINES = 600


class NodeKind(StrEnum):
    """What a node of a drawing stands for."""

    HOST = "host"
    DOMAIN = "domain"
    REST = "rest"


@dataclass(frozen=True)
class Node:
    """A host, the hosts of a domain, or the rest."""

    kind: NodeKind
    #: of the host or domain; empty: of the rest
    name: str
    #: by number, those with the most links first
    hosts: Sequence[int]
    #: the number of the drawing of its hosts; None: of a host
    opens: int | None = None


@dataclass(frozen=True)
class Lines:
    """Pairs of nodes or hosts, by number, and how many links join them."""

    ones: np.ndarray
    others: np.ndarray
    links: np.ndarray

    def where(self, wanted: np.ndarray | slice) -> Lines:
        return Lines(self.ones[wanted], self.others[wanted], self.links[wanted])


@dataclass(frozen=True)
class Drawing:
    """A drawing by its number, of which 0 is that of all hosts."""

    number: int
    nodes: Sequence[Node]
    #: how many others lead to it, one after the other
    depth: int


@dataclass(frozen=True)
class Hosts:
    """The hosts of a graph."""

    names: Sequence[str]
    #: the registrable domain of each; empty: it has none
    domains: Sequence[str]


def draw(hosts: Hosts, order: Sequence[int]) -> Iterator[Drawing]:
    """All drawings of a graph, by number.

    order: of all hosts, those with the most links first.
    """
    waiting, known = deque([(0, 0, order)]), 1
    while waiting:
        number, depth, members = waiting.popleft()
        nodes = _nodes(hosts, members, known)
        yield Drawing(number, nodes, depth)
        for node in nodes:
            if node.opens is not None:
                waiting.append((node.opens, depth + 1, node.hosts))
                known += 1


def _nodes(hosts: Hosts, members: Sequence[int], number: int) -> list[Node]:
    """number: of the first drawing that one of them opens."""
    if len(members) <= MOST_NODES:
        return [Node(NodeKind.HOST, hosts.names[host], [host]) for host in members]
    groups = list(_groups(hosts, members))
    room = MOST_NODES - len(groups)
    rest = [host for _, some in groups[MOST_NODES - 1 :] for host in some] if room < 0 else []
    nodes = []
    for name, some in groups[: MOST_NODES - 1] if rest else groups:
        if len(some) - 1 <= max(room, 0):
            room -= len(some) - 1
            nodes += [Node(NodeKind.HOST, hosts.names[host], [host]) for host in some]
        else:
            nodes.append(Node(NodeKind.DOMAIN, name, some, number))
            number += 1
    return [*nodes, Node(NodeKind.REST, "", rest, number)] if rest else nodes


def _groups(hosts: Hosts, members: Sequence[int]) -> Iterator[tuple[str, list[int]]]:
    """The hosts of each domain, that with the host of the most links first; of one domain alone
    each host.
    """
    groups: dict[str, list[int]] = {}
    for host in members:
        groups.setdefault(hosts.domains[host] or hosts.names[host], []).append(host)
    if len(groups) > 1:
        yield from groups.items()
    else:
        yield from ((hosts.names[host], [host]) for host in members)


class HostNodes:
    """Which node of which drawing each host is in, at each depth."""

    def __init__(self, hosts: int, drawings: Sequence[Drawing]) -> None:
        depths = 1 + max(one.depth for one in drawings)
        self._drawings, self._nodes = (np.zeros((depths, hosts), np.int64) for _ in range(2))
        for one in drawings:
            for at, node in enumerate(one.nodes):
                self._drawings[one.depth, node.hosts] = one.number
                self._nodes[one.depth, node.hosts] = at

    def pairs(self, lines: Lines) -> dict[str, np.ndarray]:
        """Of lines between hosts: which pairs of nodes they join, ascending, as `lines_of` reads
        them, and by how many links. A line joins nodes of one drawing, the first in which its hosts
        are not in the same node.
        """
        pairs, links = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for drawings, nodes in zip(self._drawings, self._nodes, strict=True):
            ones, others = nodes[lines.ones], nodes[lines.others]
            is_drawn = ones != others
            low, high = np.minimum(ones, others), np.maximum(ones, others)
            pairs.append((drawings[lines.ones] << 32 | low << 16 | high)[is_drawn])
            links.append(lines.links[is_drawn])
            lines = lines.where(~is_drawn)
        found, which = np.unique(np.concatenate(pairs), return_inverse=True)
        sums = np.bincount(which, np.concatenate(links), len(found)).astype(np.int64)
        return {"pair": found, "links": sums}


def lines_of(drawing: int, pairs: np.ndarray, links: np.ndarray) -> Lines:
    """All lines of a drawing, each pair of nodes once."""
    first, end = np.searchsorted(pairs, [drawing << 32, (drawing + 1) << 32])
    nodes = pairs[first:end] & 0xFFFFFFFF
    return Lines(nodes >> 16, nodes & 0xFFFF, links[first:end])


def first_lines(lines: Lines) -> Lines:
    """Those that a drawing shows, with the most links first."""
    return lines.where(np.argsort(-lines.links, kind="stable")[:MOST_LINES])
