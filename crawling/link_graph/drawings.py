"""Which hosts each drawing of the graph of hosts shows, and which it shows as a group that opens.

A drawing has at most MOST_NODES nodes. If its hosts are more, those of a domain are one node, but
for the first domains whose hosts fit; of more domains the last are one node, the rest. Domains
stand in the order of their hosts with the most links. The hosts of each such node have a drawing of
their own.
"""

from __future__ import annotations

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

    def where(self, wanted: np.ndarray) -> Lines:
        return Lines(self.ones[wanted], self.others[wanted], self.links[wanted])


@dataclass(frozen=True)
class Drawing:
    """A drawing by its number, of which 0 is that of all hosts."""

    number: int
    nodes: Sequence[Node]
    #: each pair of nodes once, those with the most links first
    lines: Lines
    #: pairs that are joined, of which `lines` are the first
    joined: int


@dataclass(frozen=True)
class Hosts:
    """The hosts of a graph."""

    names: Sequence[str]
    #: the registrable domain of each; empty: it has none
    domains: Sequence[str]


def draw(hosts: Hosts, order: Sequence[int], lines: Lines) -> Iterator[Drawing]:
    """All drawings of a graph.

    order: of all hosts, those with the most links first. lines: between hosts.
    """
    places = np.zeros(len(hosts.names), np.int64)
    waiting, known = [(0, order, lines)], 1
    while waiting:
        number, members, between = waiting.pop()
        nodes = _nodes(hosts, members, known)
        known += sum(node.opens is not None for node in nodes)
        for at, node in enumerate(nodes):
            places[node.hosts] = at
        ones, others = places[between.ones], places[between.others]
        yield _drawing(number, nodes, Lines(ones, others, between.links))
        waiting += _inner(nodes, between, ones, others)


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


def _drawing(number: int, nodes: Sequence[Node], lines: Lines) -> Drawing:
    """lines: between nodes by their places, each pair of hosts one."""
    low, high = np.minimum(lines.ones, lines.others), np.maximum(lines.ones, lines.others)
    keys, which = np.unique(low * len(nodes) + high, return_inverse=True)
    links = np.bincount(which, lines.links, len(keys)).astype(np.int64)
    ones, others = np.divmod(keys, len(nodes))
    joined = Lines(ones, others, links).where(ones != others)
    first = np.argsort(-joined.links, kind="stable")[:MOST_LINES]
    return Drawing(number, nodes, joined.where(first), len(joined.links))


def _inner(
    nodes: Sequence[Node], between: Lines, ones: np.ndarray, others: np.ndarray
) -> Iterator[tuple[int, Sequence[int], Lines]]:
    """The number, the hosts and the lines of each drawing that is opened; ones, others: the places
    of the nodes of both ends of each line.
    """
    within = between.where(ones == others)
    places = ones[ones == others]
    by_node = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[by_node], np.arange(len(nodes) + 1))
    for at, node in enumerate(nodes):
        if node.opens is not None:
            yield node.opens, node.hosts, within.where(by_node[starts[at] : starts[at + 1]])
