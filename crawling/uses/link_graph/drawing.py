"""A drawing of the hosts of a link graph: its nodes and lines, and their positions on the page."""

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
#: the width, the height and the margin of the drawing, in its own unit
WIDTH, HEIGHT, MARGIN = 1000, 700, 30
#: the number of nodes whose names are written beside them, those with the most links; the table has
#: all names
NAMED = 25
#: the most characters of such a name
NAME_LENGTH = 28


@dataclass(frozen=True)
class DrawnNode:
    """A node of a drawing: a host, the hosts of a domain, or all other hosts."""

    node: int
    kind: str
    #: the name of the host or domain; empty for all other hosts
    name: str
    hosts: int
    pages: int
    #: the number of links from other hosts, and to other hosts
    in_links: int
    out_links: int
    #: the number of the drawing of its hosts; None for a single host
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
        """The shape by meaning: group, stored (the run has pages of the host), or linked (only
        links lead to the host).
        """
        return "group" if self.opens else "stored" if self.pages else "linked"

    @property
    def query(self) -> str:
        """The query after `?run=` in the address of the node's details."""
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
        """The corner and the side of a square of the node's size."""
        (x, y), radius = self.at, self.radius
        return round(x - radius, 1), round(y - radius, 1), 2 * radius

    @property
    def label(self) -> str:
        """The text beside the node: its name, or the beginning of the name; empty if it has
        none.
        """
        if self.node >= NAMED and self.kind != NodeKind.REST:
            return ""
        words = self.words
        return words if len(words) <= NAME_LENGTH else f"{words[:NAME_LENGTH]}…"

    @property
    def label_at(self) -> tuple[float, float, str]:
        """The position of the node's label, and whether the label extends to the right or to the
        left.
        """
        (x, y), gap = self.at, self.radius + 4
        is_right = x < WIDTH * 0.7
        return round(x + (gap if is_right else -gap), 1), y + 4, "start" if is_right else "end"


@dataclass(frozen=True)
class DrawnLine:
    one: int
    other: int
    #: the number of links in both directions
    links: int

    @property
    def width(self) -> float:
        return round(1 + 1.2 * math.log10(self.links), 1)


@dataclass(frozen=True)
class HostDrawing:
    """A drawing of hosts. The drawing with number 0 shows all hosts."""

    number: int
    nodes: Sequence[DrawnNode]
    #: the lines, those with the most links last
    lines: Sequence[DrawnLine]
    #: the number of pairs of nodes that links join
    joined: int
    #: the number of the drawing that shows these hosts as one node; None for the drawing of all
    #: hosts
    within: int | None
    #: a description of the shown hosts; empty for all hosts
    words: str

    @property
    def placed_lines(self) -> list[tuple[tuple[float, float], tuple[float, float], float]]:
        """The two ends, and the width, of each line."""
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
    """The drawing with this number. Raises NotFound, LinkSearchTookTooLong or ArchiveTrouble."""
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
    """The hosts with the text in their names, beginning with those that have the most links. Raises
    the errors of `drawing_of`.
    """
    return [FoundHost(*row) for row in graph.ask(SEARCH, {"text": text, "most": most})]
