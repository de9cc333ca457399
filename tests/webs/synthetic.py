"""A web that is determined by a few numbers, so that the expected result of a crawl is known before
it begins.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from tests.servers import Reply, Request, Site, serve_site


class Node(NamedTuple):
    """A page: the `place`th of its level on its host.

    Links lead a level deeper, and some back to the first.
    """

    host: int
    level: int
    place: int


@dataclass(frozen=True)
class SyntheticWeb:
    """Shares of pages in per cent: errors (404, 410 or 501, none of which is asked for again),
    redirects on the level, slow pages, copies of one text.

    first_host: its hosts are the addresses of loopback from 127.0.0.11 on.
    """

    seed: int
    hosts: int = 3
    width: int = 10
    degree: int = 6
    depth: int = 5
    error_percent: int = 5
    redirect_percent: int = 5
    slow_percent: int = 5
    copy_percent: int = 10
    slow_seconds: float = 0.05
    first_host: int = 11

    def _number(self, *words: object) -> int:
        return int.from_bytes(
            blake2b(repr((self.seed, *words)).encode(), digest_size=8).digest(), "big"
        )

    def path(self, node: Node) -> str:
        """Letters only: numbers would make patterns, which are judged as traps are."""
        return (
            "/" + "".join(chr(ord("a") + self._number(node, n) % 26) for n in range(12))
            if node.level
            else "/"
        )

    def kind(self, node: Node) -> str:
        if node.level == 0:
            return "plain"
        share = self._number(node, "kind") % 100
        for kind in ("error", "redirect", "slow", "copy"):
            share -= getattr(self, f"{kind}_percent")
            if share < 0:
                return kind
        return "plain"

    def status(self, node: Node) -> int:
        kind = self.kind(node)
        return (
            (404, 410, 501)[self._number(node, "error") % 3]
            if kind == "error"
            else 301
            if kind == "redirect"
            else 200
        )

    def links(self, node: Node) -> list[Node]:
        """Where a page leads; a redirect has one target, which is none itself, so that no chain is
        too long.
        """
        kind = self.kind(node)
        if kind == "error":
            return []
        if kind == "redirect":
            others = (
                node._replace(place=(node.place + n) % self.width) for n in range(1, self.width)
            )
            return [
                next(
                    (other for other in others if self.kind(other) != "redirect"),
                    Node(node.host, 0, 0),
                )
            ]
        if kind == "copy":  # one text, and so the same links wherever it stands
            node = Node(0, node.level, -1)
        return [
            Node(self._number(node, "back") % self.hosts, 0, 0),
            *(self._deeper(node, n) for n in range(self.degree)),
        ]

    def _deeper(self, node: Node, number: int) -> Node:
        level = node.level + 1 if node.level < self.depth else 1
        return Node(
            self._number(node, number, "host") % self.hosts,
            level,
            self._number(node, number, "place") % self.width,
        )

    def nodes(self) -> set[Node]:
        """All that can be reached from the hosts' first pages."""
        seeds = [Node(host, 0, 0) for host in range(self.hosts)]
        found, waiting = set(seeds), deque(seeds)
        while waiting:
            new = set(self.links(waiting.popleft())) - found
            found |= new
            waiting.extend(new)
        return found


@dataclass
class ServedWeb:
    """A synthetic web on loopback, a site for each of its hosts."""

    web: SyntheticWeb
    sites: list[Site] = field(default_factory=list)

    def url(self, node: Node) -> str:
        return self.sites[node.host].url + self.web.path(node)

    @property
    def seeds(self) -> list[str]:
        return [f"{site.url}/" for site in self.sites]

    def expected(self) -> dict[str, tuple[str, int]]:
        """The fate of every URL, as (state, status)."""
        ends = {node: self.web.status(node) for node in self.web.nodes()}
        return {
            self.url(node): ("s" if status < 400 else "f", status) for node, status in ends.items()
        }

    def count_requests(self) -> int:
        return sum(len(site.paths) for site in self.sites)

    def add_pages(self) -> None:
        for node in self.web.nodes():
            self.sites[node.host].pages[self.web.path(node)] = self._page(node)

    def _page(self, node: Node):
        kind, status = self.web.kind(node), self.web.status(node)
        targets = [self.url(target) for target in self.web.links(node)]
        if kind == "redirect":
            return status, {"Location": targets[0]}, ""
        if kind == "error":
            return status, {"Content-Type": "text/plain"}, f"nothing at {self.web.path(node)}"
        name = "a copy" if kind == "copy" else f"{node} {self.web.path(node)}"
        words = " ".join(
            f"{self.web._number(name, n, node.level):x}"
            for n in range(40 + self.web._number(name) % 200)
        )
        body = f"<title>{name}</title><p>{words}</p>" + "".join(
            f'<a href="{target}">x</a>' for target in targets
        )
        reply = 200, {"Content-Type": "text/html; charset=utf-8"}, body
        return reply if kind != "slow" else lambda request: self._late(request, reply)

    def _late(self, request: Request, reply: Reply) -> Reply:
        time.sleep(self.web.slow_seconds)
        return reply


@contextmanager
def serve_web(web: SyntheticWeb) -> Iterator[ServedWeb]:
    """Serve it until the block ends, all its hosts on one port."""
    served = ServedWeb(web)
    with ExitStack() as stack:
        for number in range(web.hosts):
            port = served.sites[0].port if served.sites else 0
            served.sites.append(
                stack.enter_context(
                    serve_site({}, address=f"127.0.0.{web.first_host + number}", port=port)
                )
            )
        served.add_pages()
        yield served
