"""How long the job of a link graph takes, how much memory beside what it is granted, how soon it
gives that back, and its pages, endpoints and files, in a database of its own on the server that
DATABASE_URL names.

python -m benchmarks.dashboard.link_graph [--pages 1000000 --links 10000000 --hosts 20000]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from uuid import uuid4

import numpy as np
from django.db import connection

from allocation.models import RequestKind
from allocation.selectors import outcome_of
from allocation.services import finish_process, register_process, request_resources
from benchmarks.dashboard.answers import show, show_files
from benchmarks.scene.database import database_of_pages
from benchmarks.scene.links import forget_links, written_part
from benchmarks.scene.planned_crawl import planned_crawl
from benchmarks.timer import MIB, await_change, in_own_process
from crawling.base.storage import storage
from crawling.datasets.parquet import STORED, put_query
from crawling.installation.pools import default_pool
from crawling.jobs.enqueue import open_job
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.kinds import JobEvent
from crawling.jobs.removal import forget_jobs, remove_forgotten
from crawling.jobs.running import run_job
from crawling.jobs.running_job import RunningJob
from crawling.models import Page, Run
from crawling.uses.link_graph.graphs import computed_graph
from crawling.uses.link_graph.jobs import LINK_GRAPH, mebibytes_of
from crawling.uses.link_graph.tables import TABLES

LINKS_OF_A_PART = 200_000
#: a few pages have most links: a target is the page of this power of a number below 1
SKEW = 3
#: steps that are told of
LONGEST = 8
#: seconds from the start of a job to another process's request for the memory
BETWEEN_REQUESTS = (1, 20)
#: for a request to be granted; the benchmark ends with it
LIMIT_SECONDS = 300.0
#: of every link
SAID = {"fragment": "", "element": "a", "attribute": "href", "rel": "", "anchor": "More"}
SAID["place"] = "main"


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("pages", 1_000_000), ("links", 10_000_000), ("hosts", 20_000)):
        reader.add_argument(f"--{name}", type=int, default=usual)
    asked = reader.parse_args()
    with database_of_pages():
        crawl = planned_crawl(asked.pages, 1, asked.hosts)
        try:
            run = Run.objects.get(crawl=crawl, is_latest=True)
            fill_graph(run, asked.links)
            _compute(run)
            _give_back(run)
            show(_addresses(run))
            show_files(
                f"/crawls/{run.crawl_id}/graph.{kind}?show={of}"
                for kind in ("csv", "parquet", "graphml")
                for of in ("pages", "hosts")
            )
        finally:
            forget_links()
            forget_jobs(JobEvent.DELETED)
            remove_forgotten()


def fill_graph(run: Run, links: int) -> None:
    """Give the run's pages so many links to each other, in parts as the product writes them."""
    found = Page.objects.filter(run=run).order_by("pk")
    rows = found.values_list("pk", "url__fingerprint", "url__url").iterator()
    ids, fingerprints, urls = (np.array(column) for column in zip(*rows, strict=True))
    chance, of_a_page = np.random.default_rng(1), links // len(ids)
    shuffled = chance.permutation(len(ids))
    pages_of_a_part = LINKS_OF_A_PART // of_a_page
    for at in range(0, len(ids), pages_of_a_part):
        sources = np.repeat(np.arange(at, min(at + pages_of_a_part, len(ids))), of_a_page)
        count = len(sources)
        targets = shuffled[(len(ids) * chance.random(count) ** SKEW).astype(np.int64)]
        given = {
            "page_id": ids[sources],
            "page": urls[sources].astype(object),
            "position": np.tile(np.arange(of_a_page), count // of_a_page),
            "target": urls[targets].astype(object),
            **{name: np.full(count, word, object) for name, word in SAID.items()},
            "target_fingerprint": fingerprints[targets],
        }
        part = written_part(run.pk)
        part.links, part.bytes = put_query(part.name, STORED, given)
        part.save()


def _compute(run: Run) -> None:
    """As the job does it: what it takes, the longest steps, and what it stored."""
    job = open_job(LINK_GRAPH, run, by=None)

    def do() -> str:
        from crawling.uses.link_graph.computation import compute  # its libraries count, too

        steps = _Steps(job.name.partition("/")[0])
        compute(RunningJob(job, steps.goes_on))
        longest = "; ".join(
            f"{seconds:.1f} s {', '.join(files)}"
            for seconds, files in sorted(steps.taken, reverse=True)[:LONGEST]
        )
        return f"of {mebibytes_of(job):,} MiB granted; longest steps: {longest}"

    in_own_process("link graph", do)
    computed = computed_graph(run)
    assert computed is not None
    print(f"{computed.pages:,} pages, {computed.links:,} links, {computed.hosts:,} hosts")
    for table in TABLES:
        print(f"{(storage().size(computed.file(table)) or 0) / MIB:8.1f} MB  {table}")


class _Steps:
    """Notes how long each step of a job takes, and what it wrote."""

    def __init__(self, folder: str) -> None:
        self._folder, self._known = folder, set[str]()
        self._last, self.taken = time.perf_counter(), list[tuple[float, list[str]]]()

    def goes_on(self) -> bool:
        now, names = time.perf_counter(), set(storage().list(self._folder))
        written = sorted(name.partition(".")[2] for name in names - self._known)
        self.taken.append((now - self._last, written))
        self._last, self._known = now, names
        return True


def _give_back(run: Run) -> None:
    """How long another process waits for all memory that is free without the job, while that is at
    its work: again and again at random moments, until the graph is computed.
    """
    job = open_job(LINK_GRAPH, run, by=None)
    chance, waited = np.random.default_rng(2), list[float]()
    classes = default_pool().classes.values_list("key", flat=True)
    free = dict(zip(classes, default_pool().available, strict=True))["memory"]
    began = time.monotonic()
    while open_jobs().filter(pk=job.pk).exists():
        connection.close()
        if (pid := os.fork()) == 0:
            run_job(job.pk)
            os._exit(0)
        # what is measured is a request at any moment of the computation, which goes on meanwhile
        time.sleep(chance.uniform(*BETWEEN_REQUESTS))
        waited.append(_wait_for_memory(free))
        os.waitpid(pid, 0)
    job.refresh_from_db()
    print(
        f"{len(waited)} requests for all memory, {BETWEEN_REQUESTS[0]} to {BETWEEN_REQUESTS[1]} s "
        f"apart: granted after {np.median(waited):.1f} s, {max(waited):.1f} at most; "
        f"{job.trouble or 'computed'} after {time.monotonic() - began:.0f} s"
    )


def _wait_for_memory(mebibytes: int) -> float:
    """Seconds until another process has so much memory; it is given back at once."""
    amounts, request = {"memory": mebibytes}, uuid4()
    pool = default_pool().pk
    process = register_process(pool=pool, label="crawl", run_ref="crawl", maximum=amounts).pk
    asked_at = time.monotonic()
    request_resources(process=process, amounts=amounts, request_id=request, kind=RequestKind.START)

    def is_granted() -> bool:
        told = outcome_of(request)
        return bool(told and told.granted)

    await_change(is_granted, "The memory was not granted.", seconds=LIMIT_SECONDS, every=0.02)
    waited = time.monotonic() - asked_at
    finish_process(process=process)
    return waited


def _addresses(run: Run) -> Iterator[str]:
    web, api = f"/crawls/{run.crawl_id}", f"/api/v1/crawls/{run.crawl_id}/graph"
    url = Page.objects.filter(run=run).values_list("url__url", flat=True).first()
    lists = ["", "?sort=in_links", "?sort=hub", "?q=a1b2c3", "?show=hosts", "?show=hosts&q=site5"]
    lists += ["?show=components", "?show=components&kind=strong", "?show=drawing"]
    lists += ["?show=drawing&drawing=1", "?show=drawing&q=site5", "?component=strong-1"]
    lists.append(f"?host={str(url).split('/')[2]}")
    yield from (f"{web}/graph/{query}" for query in lists)
    yield from (f"{api}/pages?sort={sort}" for sort in ("pagerank", "in_links", "hub"))
    yield from (f"{api}{rest}" for rest in ("", "/hosts", "/components", "/drawings/0"))
    yield from (f"{api}/pages{query}" for query in ("?q=a1b2c3", "?component=strong-1"))
    yield f"{web}/pages/{run.pages.earliest('pk').pk}/"


if __name__ == "__main__":
    main()
