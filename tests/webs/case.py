"""A case: the behaviour of one server, and the expected result of a crawl of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from socket import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.webs.judging import Seen
    from tests.webs.server import Talk

#: the bytes of a whole answer, after which the connection stays open, or a function that uses the
#: connection freely; bytes that it returns are sent likewise, and after None the connection is
#: closed
Answer = bytes | Callable[["Talk"], bytes | None]


@dataclass(frozen=True)
class Case:
    """One host and its server; its seed is `http://ITS-ADDRESS:PORT{seed}`.

    pages: answers by path (with its query, else without); other paths are answered 404. Or one
        answer for all paths but robots.txt.
    verdict: state and status of the seed's row. tries: requests for the seed's path.
    pages_end: state and status of further paths' rows.
    most_requests: over all paths but robots.txt.
    order: fields of the crawl's order. One crawl has all small cases of equal orders.
    hosts: names of the case's address, `*.a.test` for all below a.test; the seed then has the
        first of them, with `www` for the star.
    accept: makes of an accepted socket the one that is talked on (TLS), or returns None when it
        has ended the connection itself.
    seconds: from the first request to the end of the last answer, where the case is crawled alone.
    mib: resident memory of the work process.
    judge: returns a sentence for each thing that is wrong although all of this is right.
    """

    name: str
    pages: Mapping[str, Answer] | Answer
    verdict: tuple[str, int] = ("s", 200)
    tries: int = 1
    seed: str = "/"
    pages_end: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    most_requests: int | None = None
    order: Mapping[str, Any] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    accept: Callable[[socket], socket | None] | None = None
    seconds: float = 30.0
    mib: int = 250
    judge: Callable[[Seen], list[str]] | None = None
    small: bool = False

    def answer_to(self, path: str) -> Answer:
        if callable(self.pages) or isinstance(self.pages, bytes):
            return NOT_HERE if path == "/robots.txt" else self.pages
        return self.pages.get(path, self.pages.get(path.partition("?")[0], NOT_HERE))


def answer(
    body: bytes | str = b"",
    headers: Mapping[str, str] | None = None,
    *,
    status: int = 200,
    kind: str = "text/html; charset=utf-8",
) -> bytes:
    """A whole answer with its length, unless `headers` have another one or a transfer coding."""
    content = body.encode() if isinstance(body, str) else body
    fields = {"Content-Type": kind, **(headers or {})}
    if not {"content-length", "transfer-encoding"} & {name.lower() for name in fields}:
        fields["Content-Length"] = str(len(content))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} X\r\n{head}\r\n".encode("latin-1") + content


def links(*targets: str) -> str:
    return "<title>links</title>" + "".join(f'<a href="{target}">x</a>' for target in targets)


NOT_HERE = answer("not here", status=404, kind="text/plain")
