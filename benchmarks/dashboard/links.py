"""The time of queries to a run's links, and of the pages, endpoints and files that make them, in a
separate database on the server that DATABASE_URL names. The earlier run has the same links, except
one of every tenth page.

python -m benchmarks.dashboard.links [--links 10000000]
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from urllib.parse import quote

from django.utils import timezone

from benchmarks.dashboard.answers import show, show_files
from benchmarks.report import Table, options
from benchmarks.scene.database import database_of_pages
from benchmarks.scene.installation import run_of_pages
from benchmarks.scene.links import MENU, OF_A_PAGE, fill_links, forget_links
from benchmarks.timer import Step, least_figures
from crawling.datasets.parts import count_pages_behind
from crawling.models import LinksPart, Run
from crawling.uses.link_check import reports
from crawling.uses.link_check.link_check import list_problems, problem_rows
from crawling.uses.link_check.problem_kinds import ProblemKind


def main() -> None:
    links = options(__doc__, links=10_000_000).links
    with database_of_pages():
        try:
            run = run_of_pages(links // OF_A_PAGE)
            fill_links(run.pk, links)
            _tell_size(run)
            table = Table("s", "CPU s", "question, the quicker of two")
            for name, question in _questions(run):
                taken = least_figures(question, times=2)
                table.row(taken.clock, taken.here, name)
            fill_links(run.pk, links, earlier=_run_before(run).pk)
            show(_addresses(run))
            show_files(_files(run))
        finally:
            forget_links()


def _tell_size(run: Run) -> None:
    sizes = LinksPart.objects.filter(run=run, links__gt=0).values_list("links", "bytes")
    stored, taken = (sum(column) for column in zip(*sizes, strict=True))
    print(f"{stored:,} links, {taken / stored:.1f} bytes each, {len(sizes)} parts")


def _questions(run: Run) -> Iterator[tuple[str, Step]]:
    page, often, seldom = _example_links(run)
    links = partial(reports.list_links, run, most=50)
    yield "pages behind", lambda: count_pages_behind(run)
    yield "all links", links
    yield "references of a page", partial(links, page=page)
    yield "back links of a page", partial(links, target=seldom)
    yield "back links of a menu's entry", partial(links, target=often)
    yield "sources of 50 broken links", lambda: reports.list_broken(run, most=50)
    yield "media", lambda: reports.list_media(run, most=50)
    yield "hosts", lambda: reports.list_hosts(run, most=50)
    for kind in ProblemKind:
        yield f"link check: {kind}", partial(list_problems, run, kind, most=50)
    yield "all broken links as a file", lambda: list(problem_rows(run, [ProblemKind.BROKEN]))


def _example_links(run: Run) -> tuple[str, str, str]:
    """A page, an address to which many pages link, and an address to which few pages link."""
    found, _ = reports.list_links(run, most=MENU + 1)
    return found[0].page, found[0].target, found[-1].target


def _run_before(run: Run) -> Run:
    now = timezone.now()
    facts = {"state": "finished", "is_latest": False, "started_at": now, "finished_at": now}
    return Run.objects.create(crawl=run.crawl, number=run.number + 1, **facts)


def _addresses(run: Run) -> Iterator[str]:
    links = _example_links(run)
    page, often, seldom = (quote(url, safe="") for url in links)
    lists = ["", f"page={page}", f"target={seldom}", f"target={often}"]
    lists.append(f"host={links[1].split('/')[2]}")
    web, run_is = f"/crawls/{run.crawl_id}", f"run={run.number}"
    api, other = f"/api/v1{web}", f"against={run.number + 1}"
    yield from (f"{api}/links?{run_is}&{query}" for query in lists)
    yield from (f"{web}/links/?{run_is}&show=all&{query}" for query in lists)
    for name in ("media", "hosts"):
        yield f"{web}/links/?{run_is}&show={name}"
        yield f"{api}/reports/{name}?{run_is}"
    yield f"{api}/reports/broken-links?{run_is}"
    for kind in ProblemKind:
        yield f"{web}/links/?{run_is}&kind={kind}"
        yield f"{api}/reports/problems?{run_is}&kind={kind}"
    yield f"{web}/link-changes/?{run_is}&{other}"
    yield f"{api}/link-changes?{run_is}&{other}"
    yield f"{api}/datasets?{run_is}"
    yield f"{web}/pages/{run.pages.earliest('pk').pk}/"


def _files(run: Run) -> Iterator[str]:
    web, run_is = f"/crawls/{run.crawl_id}", f"run={run.number}"
    yield from (f"{web}/link-check.{kind}?{run_is}&kind=broken" for kind in ("csv", "xml"))
    yield f"{web}/link-check.csv?{run_is}"
    yield f"{web}/link-changes.csv?{run_is}&against={run.number + 1}"


if __name__ == "__main__":
    main()
