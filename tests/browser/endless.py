"""A web whose every page links to the next ones, so that a crawl of it lasts exactly as long as a
test wants.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.servers import Reply, Request, serve_site

AHEAD = 5
#: each page has words of its own, as pages of a trap have not
SYLLABLES = ("ba", "ko", "mi", "ru", "ta", "len", "dor", "fas", "gim", "pel")
HTML = {"Content-Type": "text/html; charset=utf-8"}


@dataclass
class EndlessWeb:
    """Pages `/`, `/?n=1`, `/?n=2`, …: each links to the next few until `enough` is set, and each
    seventh to one that is missing.
    """

    url: str
    enough: threading.Event


def words_of(number: int) -> str:
    """Sixty words that follow from the page's number."""
    chance = random.Random(number)
    return " ".join("".join(chance.choices(SYLLABLES, k=3)) for _ in range(60))


@contextmanager
def endless_web(*, address: str, port: int = 0, hold_at: int | None = None) -> Iterator[EndlessWeb]:
    """Serve one. From page number `hold_at` on, answers wait for `enough`, so that a crawl stands
    still in the middle of its work.
    """
    enough = threading.Event()

    def page(request: Request) -> Reply:
        number = int(request.path.partition("?n=")[2] or 0)
        if hold_at is not None and number >= hold_at:
            enough.wait()
        ahead = [] if enough.is_set() else [f"/?n={number + step}" for step in range(1, AHEAD + 1)]
        dead = [f"/missing/{number}"] if number % 7 == 6 else []
        links = "".join(f'<li><a href="{link}">{link}</a></li>' for link in ahead + dead)
        return (
            200,
            HTML,
            f'<!doctype html><html lang="en"><title>Page {number}</title><h1>Page '
            f"{number}</h1><p>{words_of(number)}</p><ul>{links}</ul></html>",
        )

    with serve_site({"/": page}, address=address, port=port) as site:
        try:
            yield EndlessWeb(f"{site.url}/", enough)
        finally:
            enough.set()
