"""How long a link check takes, and what it finds, beside LinkChecker and lychee, all without
delays: `python -m benchmarks.crawling.link_check [--pages 1000] [--linkchecker PROGRAM] [--lychee
PROGRAM]`

The site is on loopback, served by a process of its own. lychee follows no links: it is told all
pages. Wants a PostgreSQL whose tables are made; its crawl stays.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.database import set_up_django

#: links of a page to others
LINKS = 30
#: so many pages have one fault each of: link, image, fragment, external link
EVERY = 50
#: LinkChecker waits a third of a second between requests to a host, unless its settings say
#: otherwise and the host's answers have this header
RATE = "[checking]\nmaxrequestspersecond=100000\n[AnchorCheck]\n"
HEADERS = {"Content-Type": "text/html", "LinkChecker": "as quickly as it likes"}


def pages_of(count: int, elsewhere: str) -> dict[str, str]:
    pages = {}
    for number in range(count):
        links = "".join(
            f'<a href="/page{(number * 7 + step * step) % count}#part">Page {step}</a> '
            for step in range(LINKS)
        )
        if number % EVERY == 0:
            links += (
                f'<a href="/gone{number}">gone</a> <img src="/gone{number}.png" alt="gone">'
                f'<a href="/page{(number + 1) % count}#gone{number}">no part</a>'
                f'<a href="{elsewhere}/gone{number}">elsewhere</a>'
            )
        text = "<p>Some words of a page. " * 50
        pages[f"/page{number}"] = (
            f"<!DOCTYPE html><title>Page {number}</title><h1 id=part>Page</h1>{links}{text}"
        )
    return {**pages, "/": pages["/page0"] + "".join(f'<a href="{page}">.</a>' for page in pages)}


def _serve(count: int, told: Connection) -> None:
    from tests.servers import serve_site

    with serve_site({}, address="127.0.0.2") as other, serve_site({}) as site:
        pages = pages_of(count, other.url)
        site.pages |= {path: (200, HEADERS, page) for path, page in pages.items()}
        other.pages |= {f"/gone{number}": (404, HEADERS, "") for number in range(0, count, EVERY)}
        told.send(site.url)
        told.recv()


@contextmanager
def served(count: int) -> Iterator[str]:
    here, there = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=_serve, args=(count, there))
    server.start()
    try:
        yield here.recv()
    finally:
        here.send("end")
        server.join()


def by_crawlsite(site: str) -> set[str]:
    from benchmarks.crawling.local_crawls import crawl_to_the_end
    from crawling.datasets.catch_up import catch_up
    from crawling.datasets.second_reading import read_again
    from crawling.uses.link_check.link_check import problem_rows
    from crawling.uses.link_check.problem_kinds import ProblemKind

    fields = {"requisites": True, "check_external": True, "delay_seconds": 0}
    began = time.monotonic()
    run = crawl_to_the_end("link check", [f"{site}/"], **fields)
    crawled = time.monotonic()
    catch_up(run.pk)
    caught_up = time.monotonic()
    read_again(run.pk)
    again = time.monotonic()
    rows = list(problem_rows(run, [ProblemKind.BROKEN, ProblemKind.FRAGMENT]))
    print(
        f"  crawl {crawled - began:.1f} s, links {caught_up - crawled:.1f} s, second reading "
        f"{again - caught_up:.1f} s, questions {time.monotonic() - again:.1f} s"
    )
    return {row["url"] for row in rows}


def by_linkchecker(program: str, site: str) -> set[str]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "settings")
        settings.write_text(RATE)
        command = [program, "-f", str(settings), "--check-extern", "-o", "csv", f"{site}/"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    head, *rows = [line.split(";") for line in lines]
    named = [dict(zip(head, row, strict=False)) for row in rows]
    return {row.get("url") or row["urlname"] for row in named if row.get("urlname")}


def by_lychee(program: str, site: str, count: int) -> set[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("\n".join([f"{site}/", *(f"{site}/page{number}" for number in range(count))]))
        listed.flush()
        options = ["--include-fragments", "--no-progress", "--format", "json", "--max-retries", "0"]
        options += ["--host-request-interval", "0ms", "--files-from", listed.name]
        command = [program, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    errors = json.loads(done.stdout)["error_map"]
    return {error["url"] for found in errors.values() for error in found}


def timed(name: str, check: Callable[[], set[str]]) -> tuple[float, set[str]]:
    before, began = os.times(), time.monotonic()
    found, after = check(), os.times()
    seconds = time.monotonic() - began
    used = sum(after[:4]) - sum(before[:4])
    print(f"{name}: {seconds:.1f} s, {used:.1f} s of the processor, {len(found)} found", flush=True)
    return seconds, found


def main() -> None:
    from benchmarks.crawling.local_crawls import make_ready

    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--pages", type=int, default=1000)
    reader.add_argument("--linkchecker", metavar="PROGRAM")
    reader.add_argument("--lychee", metavar="PROGRAM")
    asked = reader.parse_args()
    make_ready()
    with served(asked.pages) as site:
        peers = {}
        if asked.linkchecker:
            peers["LinkChecker"] = lambda: by_linkchecker(asked.linkchecker, site)
        if asked.lychee:
            peers["lychee"] = lambda: by_lychee(asked.lychee, site, asked.pages)
        ours, found = timed("crawlsite", lambda: by_crawlsite(site))
        for name, check in peers.items():
            seconds, theirs = timed(name, check)
            print(f"  it takes {seconds / ours:.2f} times as long as crawlsite")
            for missing in sorted(theirs - found)[:10]:
                print(f"  found by it alone: {missing}")
            print(f"  found by crawlsite alone: {len(found - theirs)}")
            for missing in sorted(found - theirs)[:3]:
                print(f"    {missing}")


if __name__ == "__main__":
    set_up_django()
    main()
