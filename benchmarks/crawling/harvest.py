"""The harvest rate of a focused crawl beside breadth first: the share of relevant pages among the
first that are fetched, and what the comparison costs.
`python -m benchmarks.crawling.harvest [--root DIRECTORY] [--pages 100] [--rounds 3]`

The site is on loopback: the HTML files of a directory, by default those of Debian's python3.11-doc.
A page is relevant if an expression matches its file at least ten times, which has nothing to do
with the crawl's own measure. Wants a PostgreSQL whose tables are made; its crawls stay.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.database import set_up_django

ROOT = Path("/usr/share/doc/python3.11/html")
#: a topic in words, and what a page about it repeats
TOPICS = {
    "asyncio coroutines event loop": r"asyncio|coroutine",
    "email message headers MIME": r"\bemail\b|\bMIME\b",
    "C API reference counting of objects": r"Py[A-Z_]\w*",
    "unittest mock testing": r"unittest|\bmock\b|doctest",
    "subprocess threads multiprocessing": r"subprocess|multiprocessing|threading",
}
LEAST_MATCHES = 10
HEADERS = {"Content-Type": "text/html; charset=utf-8"}


def pages_in(root: Path) -> dict[str, bytes]:
    return {f"/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*.html")}


def _serve(root: Path, told: Connection) -> None:
    from tests.servers import serve_site

    pages = pages_in(root)
    with serve_site({path: (200, HEADERS, body) for path, body in pages.items()}) as site:
        told.send(site.url)
        told.recv()


@contextmanager
def served(root: Path) -> Iterator[str]:
    here, there = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=_serve, args=(root, there))
    server.start()
    try:
        yield here.recv()
    finally:
        here.send("end")
        server.join()


def crawl(site: str, **fields: object) -> tuple[list[str], float]:
    """The paths of the pages in the order of their fetches, and seconds."""
    from benchmarks.crawling.local_crawls import crawl_to_the_end
    from crawling.models import Page

    began = time.monotonic()
    run = crawl_to_the_end("harvest", [f"{site}/index.html"], delay_seconds=0, **fields)
    seconds = time.monotonic() - began
    pages = Page.objects.filter(run=run, status=200).order_by("fetched_at")
    return [url.removeprefix(site) for url in pages.values_list("url__url", flat=True)], seconds


def relevant_in(pages: Mapping[str, bytes], expression: str) -> set[str]:
    wanted = re.compile(expression)
    return {
        path
        for path, body in pages.items()
        if len(wanted.findall(body.decode(errors="replace"))) >= LEAST_MATCHES
    }


def harvest(site: str, pages: Mapping[str, bytes], most: int) -> None:
    fields = {"max_pages": most, "exact_order": True}
    broad, _ = crawl(site, **fields)
    for topic, expression in TOPICS.items():
        relevant = relevant_in(pages, expression)
        focused, _ = crawl(site, order="focused", topic=[topic], **fields)
        rates = [100 * sum(path in relevant for path in paths) / most for paths in (broad, focused)]
        print(
            f"{topic}: {len(relevant)} of {len(pages)} pages are relevant; of the first {most} "
            f"breadth first {rates[0]:.0f} %, focused {rates[1]:.0f} %",
            flush=True,
        )


def speed(site: str, rounds: int) -> None:
    topic = next(iter(TOPICS))
    orders = {"breadth_first": {}, "best_first": {}, "focused": {"topic": [topic]}}
    for _ in range(rounds):
        for order, fields in orders.items():
            paths, seconds = crawl(site, order=order, **fields)
            print(f"{order}: {len(paths) / seconds:.1f} pages/s", flush=True)


def main() -> None:
    from benchmarks.crawling.local_crawls import make_ready

    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--root", type=Path, default=ROOT)
    reader.add_argument("--pages", type=int, default=100)
    reader.add_argument("--rounds", type=int, default=3)
    asked = reader.parse_args()
    make_ready()
    with served(asked.root) as site:
        harvest(site, pages_in(asked.root), asked.pages)
        speed(site, asked.rounds)


if __name__ == "__main__":
    set_up_django()
    main()
