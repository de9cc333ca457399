"""How long questions to a run's links take, and the pages, endpoints and files that ask them, in a
database of its own on the server that DATABASE_URL names. The run before has the same links but
for one of every tenth page.

python -m benchmarks.dashboard.links [--links 10000000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from benchmarks.scene.database import set_up_django

#: of a page: entries of its host's menu, links to other pages of the run, images
MENU, OTHERS, IMAGES = 60, 30, 10
OF_A_PAGE = MENU + OTHERS + IMAGES
PAGES_OF_A_PART = 1_000
#: of a page, that fragments may name; links to other pages name one each, and the last does not
PLACES = 72


def fill_links(run_id: int, links: int, *, earlier: int | None = None) -> None:
    """Give the run's first pages so many links, in parts as the product writes them.

    earlier: the id of the run before, which has those links instead, some of them others.
    """
    from django.utils import timezone

    from crawling.datasets.parquet import put_findings, put_part
    from crawling.datasets.parts import new_part
    from crawling.models import Page

    found = Page.objects.filter(run=run_id).order_by("pk").values_list("pk", "final_url")
    pages = list(found[: links // OF_A_PAGE])
    urls = [url for _, url in pages]
    for at in range(0, len(pages), PAGES_OF_A_PART):
        some = pages[at : at + PAGES_OF_A_PART]
        rows = [row for page_id, url in some for row in _links_of_page(page_id, url, urls)]
        if earlier:
            rows = list(map(_as_before, rows))
        part = new_part(earlier or run_id, None)
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


def _as_before(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A page's last link to another page led elsewhere, if its fingerprint ends in 0."""
    from crawling.web.addresses import fingerprint

    page_id, url, place, *rest = row
    if place != MENU + OTHERS - 1 or fingerprint(url) % 10:
        return row
    target = f"{url}/earlier"
    return (page_id, url, place, target, *rest[1:-1], fingerprint(target))


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
    from crawling.base.storage import storage
    from crawling.models import LinksPart

    for part in LinksPart.objects.all():
        storage().delete(part.name)
        storage().delete(part.findings_name)


def main() -> None:
    from benchmarks.dashboard.times import show, show_files
    from benchmarks.scene.database import database_of_pages
    from benchmarks.scene.installation import Size, fill
    from crawling.models import LinksPart, Run

    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--links", type=int, default=10_000_000)
    links = reader.parse_args().links
    with database_of_pages():
        size = Size(crawls=20, live=2, pages=2 * links // OF_A_PAGE, hosts=500, rows=100, links=0)
        try:
            run = Run.objects.get(crawl=fill(size).crawl, is_latest=True)
            fill_links(run.pk, links)
            sizes = LinksPart.objects.filter(run=run, links__gt=0).values_list("links", "bytes")
            stored, taken = (sum(column) for column in zip(*sizes, strict=True))
            print(f"{stored:,} links, {taken / stored:.1f} bytes each, {len(sizes)} parts")
            for name, question in _questions(run):
                _tell(name, question)
            fill_links(run.pk, links, earlier=_run_before(run).pk)
            show(list(_places(run)))
            show_files(list(_files(run)))
        finally:
            forget_links()


def _questions(run: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    from crawling.datasets.parts import pages_behind
    from crawling.uses.link_check import reports
    from crawling.uses.link_check.link_check import list_problems, problem_rows
    from crawling.uses.link_check.problem_kinds import ProblemKind

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


def _run_before(run: Any) -> Any:
    from django.utils import timezone

    from crawling.models import Run

    now = timezone.now()
    facts = {"state": "finished", "is_latest": False, "started_at": now, "finished_at": now}
    return Run.objects.create(crawl=run.crawl, number=run.number + 1, **facts)


def _places(run: Any) -> Iterator[str]:
    from crawling.uses.link_check import reports
    from crawling.uses.link_check.problem_kinds import ProblemKind

    found, _ = reports.list_links(run, most=MENU + 1)
    page, often, seldom = (
        quote(url, safe="") for url in (found[0].page, found[0].target, found[-1].target)
    )
    host = found[0].target.split("/")[2]
    lists = ["", f"page={page}", f"target={seldom}", f"target={often}", f"host={host}"]
    web, api, run_is = (
        f"/crawls/{run.crawl_id}",
        f"/api/v1/crawls/{run.crawl_id}",
        f"run={run.number}",
    )
    yield from (f"{api}/links?{run_is}&{query}" for query in lists)
    yield from (f"{web}/links/?{run_is}&show=all&{query}" for query in lists)
    for name in ("media", "hosts"):
        yield f"{web}/links/?{run_is}&show={name}"
        yield f"{api}/reports/{name}?{run_is}"
    yield f"{api}/reports/broken-links?{run_is}"
    for kind in ProblemKind:
        yield f"{web}/links/?{run_is}&kind={kind}"
        yield f"{api}/reports/problems?{run_is}&kind={kind}"
    yield f"{web}/link-changes/?{run_is}&against={run.number + 1}"
    yield f"{api}/link-changes?{run_is}&against={run.number + 1}"
    yield f"{api}/datasets?{run_is}"
    yield f"{web}/pages/{run.pages.earliest('pk').pk}/"


def _files(run: Any) -> Iterator[str]:
    web, run_is = f"/crawls/{run.crawl_id}", f"run={run.number}"
    yield from (f"{web}/link-check.{kind}?{run_is}&kind=broken" for kind in ("csv", "xml"))
    yield f"{web}/link-check.csv?{run_is}"
    yield f"{web}/link-changes.csv?{run_is}&against={run.number + 1}"


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
