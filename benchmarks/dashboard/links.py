"""How long questions to a run's links take, in a database of its own on the server that
DATABASE_URL names.

python -m benchmarks.dashboard.links [--links 10000000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks.database import set_up_django

#: of a page: entries of its host's menu, links to other pages of the run, images
MENU, OTHERS, IMAGES = 60, 30, 10
OF_A_PAGE = MENU + OTHERS + IMAGES
PAGES_OF_A_PART = 1_000
#: of a page, that fragments may name; links to other pages name one each, and the last does not
PLACES = 72


def fill_links(run_id: int, links: int) -> None:
    """Give the run's first pages so many links, in parts as the product writes them."""
    from django.utils import timezone

    from crawling.links.parquet import put_findings, put_part
    from crawling.links.parts import new_part
    from crawling.models import Page

    found = Page.objects.filter(run=run_id).order_by("pk").values_list("pk", "final_url")
    pages = list(found[: links // OF_A_PAGE])
    urls = [url for _, url in pages]
    for at in range(0, len(pages), PAGES_OF_A_PART):
        some = pages[at : at + PAGES_OF_A_PART]
        rows = [row for page_id, url in some for row in _links_of_page(page_id, url, urls)]
        part = new_part(run_id, None)
        part.collected_at = part.written_at = timezone.now()
        part.links, part.bytes = len(rows), put_part(part.name, rows)
        put_findings(part.findings_name, [row for page in some for row in _findings_of_page(*page)])
        part.save()


def _links_of_page(page_id: int, url: str, urls: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    from crawling.web.addresses import fingerprint

    host, first = "/".join(url.split("/")[:3]), fingerprint(url)
    for place in range(OF_A_PAGE):
        if place < MENU:
            target, says = f"{host}/menu/entry-{place}", ("a", "href", "", f"Entry {place}", "nav")
        elif place < MENU + OTHERS:
            target = urls[first * (place + 1) % len(urls)]
            says = ("a", "href", "", f"An article like {target[-8:]}", "main")
        else:
            at = host.replace("https:", "http:") if first % 100 == 0 else host
            target = f"{at}/images/{(first + place) % 997}.png"
            says = ("img", "src", "", "" if place % 2 else "An image", "main")
        fragment = f"part-{place}" if says[4] == "main" and says[0] == "a" else ""
        yield page_id, url, place, target, fragment, *says, fingerprint(target)


def _findings_of_page(page_id: int, url: str) -> Iterator[tuple[Any, ...]]:
    from crawling.web.addresses import fingerprint

    known = page_id, fingerprint(url)
    yield *known, "read", url, 1, 0
    for place in range(MENU + OTHERS - PLACES, MENU + OTHERS - 1):
        yield *known, "place", f"part-{place}", 1, 0
    if page_id % 10 == 0:
        yield *known, "error", "duplicate-attribute", 3, 17


def forget_links() -> None:
    """Remove the files; the rows go with the database."""
    from crawling.models import LinksPart
    from crawling.storage import storage

    for part in LinksPart.objects.all():
        storage().delete(part.name)
        storage().delete(part.findings_name)


def main() -> None:
    from django.core.management import call_command

    from benchmarks.dashboard.load import Size, fill
    from benchmarks.database import empty_database
    from crawling.models import LinksPart, Run

    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--links", type=int, default=10_000_000)
    links = reader.parse_args().links
    with empty_database():
        call_command("set_up")
        size = Size(crawls=20, live=2, pages=2 * links // OF_A_PAGE, hosts=500, rows=100, links=0)
        try:
            run = Run.objects.get(crawl=fill(size).crawl, is_latest=True)
            fill_links(run.pk, links)
            sizes = LinksPart.objects.filter(run=run, links__gt=0).values_list("links", "bytes")
            stored, taken = (sum(column) for column in zip(*sizes, strict=True))
            print(f"{stored:,} links, {taken / stored:.1f} bytes each, {len(sizes)} parts")
            for name, question in _questions(run):
                _tell(name, question)
        finally:
            forget_links()


def _questions(run: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    from crawling.dashboard.links import reports
    from crawling.dashboard.links.link_check import list_problems, problem_rows
    from crawling.dashboard.links.problem_kinds import ProblemKind
    from crawling.links.parts import pages_behind

    found, _ = reports.list_links(run, most=MENU + 1)
    page, often, seldom = found[0].page, found[0].target, found[-1].target
    yield "pages behind", lambda: pages_behind(run)
    yield "all links", lambda: reports.list_links(run, most=50)
    yield "references of a page", lambda: reports.list_links(run, page=page, most=50)
    yield "back links of a page", lambda: reports.list_links(run, target=seldom, most=50)
    yield "back links of a menu's entry", lambda: reports.list_links(run, target=often, most=50)
    yield "sources of 50 broken links", lambda: reports.list_broken(run, most=50)
    yield "media", lambda: reports.list_media(run, most=50)
    yield "hosts", lambda: reports.list_hosts(run, most=50)
    for kind in ProblemKind:
        yield f"link check: {kind}", partial(list_problems, run, kind, most=50)
    yield "all broken links as a file", lambda: _count(problem_rows(run, [ProblemKind.BROKEN]))


def _count(rows: Iterator[Any]) -> int:
    return sum(1 for _ in rows)


def _tell(name: str, question: Callable[[], Any]) -> None:
    """Seconds of the clock and of this process's processor, which reads the parts; the quicker of
    two.
    """
    told = []
    for _ in range(2):
        began, used = time.perf_counter(), time.process_time()
        question()
        told.append((time.perf_counter() - began, time.process_time() - used))
    wall, here = min(told)
    print(f"{wall:7.2f} s, {here:6.2f} s of the processor  {name}", flush=True)


if __name__ == "__main__":
    set_up_django()
    main()
