"""A drawing of the hosts of a link graph: its nodes and lines, and their places on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from crawling.base.errors import NotFound
from crawling.datasets.job_tables import JobTables
from crawling.uses.link_graph.drawings import NodeKind

NODES = """
SELECT node, kind, name, hosts, pages, in_links, out_links, nullif(opens, 0), x, y, joined
FROM drawn_nodes WHERE drawing = $drawing ORDER BY node
"""
LINES = "SELECT one, other, links FROM drawn_lines WHERE drawing = $drawing ORDER BY links"
#: the node that opens a drawing
OPENED_BY = "SELECT drawing, kind, name, hosts FROM drawn_nodes WHERE opens = $drawing"
SEARCH = """
SELECT name, pages, in_links, out_links, drawing FROM drawn_nodes
WHERE kind = 'host' AND contains(name, lower($text))
ORDER BY in_links + out_links DESC, name LIMIT $most
"""
#: the size of the drawing, in its own unit, and the margin around it
WIDTH, HEIGHT, MARGIN = 1000, 700, 30
#: nodes with the most links, whose names are written beside them; the table has all
NAMED = 25
#: characters of such a name
NAME_LENGTH = 28


@dataclass(frozen=True)
class DrawnNode:
    """A host of a drawing, the hosts of a domain, or the rest."""

    node: int
    kind: str
    #: the name of the host or domain; empty for the rest
    name: str
    hosts: int
    pages: int
    #: links from other hosts and to other hosts
    in_links: int
    out_links: int
    #: the drawing of its hosts; None for a host
    opens: int | None
    #: between 0 and 1
    x: float
    y: float

    @property
    def words(self) -> str:
        if self.kind == NodeKind.REST:
            return f"{self.hosts:,} more hosts"
        return self.name or "other hosts"

    @property
    def shape(self) -> str:
        """group, stored: the run has pages of it, or linked: only links lead to it."""
        return "group" if self.opens else "stored" if self.pages else "linked"

    @property
    def query(self) -> str:
        """The part after `?run=` in the address of the node's details."""
        if self.opens:
            return urlencode({"show": "drawing", "drawing": self.opens})
        return urlencode({"host": self.name} if self.pages else {"show": "hosts", "q": self.name})

    @property
    def facts(self) -> str:
        hosts = f"{self.hosts:,} hosts, " if self.opens else ""
        pages = f"{self.pages:,} page{'' if self.pages == 1 else 's'}"
        return f"{hosts}{pages}, {self.in_links:,} links to it, {self.out_links:,} links from it"

    @property
    def links(self) -> int:
        return self.in_links + self.out_links

    @property
    def at(self) -> tuple[float, float]:
        """The centre of the node in the drawing's unit."""
        return (
            round(MARGIN + self.x * (WIDTH - 2 * MARGIN), 1),
            round(MARGIN + self.y * (HEIGHT - 2 * MARGIN), 1),
        )

    @property
    def radius(self) -> float:
        return round(4 + 2 * math.log10(1 + self.links), 1)

    @property
    def box(self) -> tuple[float, float, float]:
        """The corner and the side of a square of that size."""
        (x, y), radius = self.at, self.radius
        return round(x - radius, 1), round(y - radius, 1), 2 * radius

    @property
    def label(self) -> str:
        """The text beside the node: its name, or the beginning; empty if there is none."""
        if self.node >= NAMED and self.kind != NodeKind.REST:
            return ""
        words = self.words
        return words if len(words) <= NAME_LENGTH else f"{words[:NAME_LENGTH]}…"

    @property
    def label_at(self) -> tuple[float, float, str]:
        """The place of the node's label, and whether it extends to the right or to the left."""
        (x, y), gap = self.at, self.radius + 4
        is_right = x < WIDTH * 0.7
        return round(x + (gap if is_right else -gap), 1), y + 4, "start" if is_right else "end"


@dataclass(frozen=True)
class DrawnLine:
    one: int
    other: int
    #: in both directions
    links: int

    @property
    def width(self) -> float:
        return round(1 + 1.2 * math.log10(self.links), 1)


@dataclass(frozen=True)
class HostDrawing:
    """A drawing of hosts; number 0 has all."""

    number: int
    nodes: Sequence[DrawnNode]
    #: the lines with the most links, which come last
    lines: Sequence[DrawnLine]
    #: pairs of its nodes that are joined
    joined: int
    #: the drawing that has its hosts as one node; None: of all hosts
    within: int | None
    #: the words of the hosts shown; empty for all
    words: str

    @property
    def placed_lines(self) -> list[tuple[tuple[float, float], tuple[float, float], float]]:
        """The two ends and the width of each line."""
        at = [node.at for node in self.nodes]
        return [(at[line.one], at[line.other], line.width) for line in self.lines]


@dataclass(frozen=True)
class FoundHost:
    name: str
    pages: int
    in_links: int
    out_links: int
    drawing: int


def drawing_of(graph: JobTables, number: int) -> HostDrawing:
    """Raises NotFound, LinkSearchTookTooLong, ArchiveTrouble."""
    rows, within, words = graph.ask(NODES, {"drawing": number}), None, ""
    if number:
        above = graph.ask(OPENED_BY, {"drawing": number})
        if not above:
            raise NotFound(f"The link graph has no drawing {number}.")
        within, kind, name, hosts = above[0]
        words = name if kind == NodeKind.DOMAIN else f"{hosts:,} more hosts"
    nodes = [DrawnNode(*values) for *values, _ in rows]
    lines = [DrawnLine(*row) for row in graph.ask(LINES, {"drawing": number})]
    joined = rows[0][-1] if rows else 0
    return HostDrawing(number, nodes, lines, joined, within, words)


def find_hosts(graph: JobTables, text: str, *, most: int) -> list[FoundHost]:
    """The hosts with the text in their names, those with the most links first. Raises as
    `drawing_of`.
    """
    return [FoundHost(*row) for row in graph.ask(SEARCH, {"text": text, "most": most})]
