"""Ranks and components of small graphs computed straight from their definitions, slowly: with nodes
by name, and edges as pairs of nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

Edge = tuple[str, str]


def pagerank(nodes: Collection[str], edges: Collection[Edge]) -> dict[str, float]:
    """The share of time that a surfer who follows a link with probability 0.85 spends at each node
    (Page, Brin et al. 1999).
    """
    out = {node: [t for s, t in edges if s == node] for node in nodes}
    ranks = dict.fromkeys(nodes, 1 / len(nodes))
    for _ in range(300):
        lost = sum(ranks[node] for node in nodes if not out[node])
        ranks = {
            node: (0.15 + 0.85 * lost) / len(nodes)
            + 0.85 * sum(ranks[s] / len(out[s]) for s, t in edges if t == node)
            for node in nodes
        }
    return ranks


def hubs_and_authorities(
    nodes: Collection[str], edges: Collection[Edge]
) -> tuple[dict[str, float], dict[str, float]]:
    """The hub and authority scores, each kind with the sum 1 (Kleinberg 1999)."""
    hubs = dict.fromkeys(nodes, 1.0)
    for _ in range(300):
        authorities = _share({n: sum(hubs[s] for s, t in edges if t == n) for n in nodes})
        hubs = _share({n: sum(authorities[t] for s, t in edges if s == n) for n in nodes})
    return hubs, authorities


def _share(values: dict[str, float]) -> dict[str, float]:
    total = sum(values.values()) or 1.0
    return {node: value / total for node, value in values.items()}


def components(nodes: Collection[str], edges: Collection[Edge]) -> list[list[str]]:
    """The strongly connected components: nodes that can reach each other."""
    reached = {node: _reached(node, edges) for node in nodes}
    found = {frozenset(b for b in nodes if b in reached[a] and a in reached[b]) for a in nodes}
    return sorted(map(sorted, found))


def _reached(node: str, edges: Iterable[Edge]) -> set[str]:
    reached, last = {node}, 0
    while len(reached) > last:
        last = len(reached)
        reached |= {t for s, t in edges if s in reached}
    return reached
