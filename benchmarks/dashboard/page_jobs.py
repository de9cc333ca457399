"""What background jobs take that read all pages of a crawl, beside the memory that they hold, and
the pages and endpoints that show what they found: the plan of revisits, and clusters of copies. In
a database of its own on the server that DATABASE_URL names.

python -m benchmarks.dashboard.page_jobs [--pages 1000000 --runs 4 --hosts 20000]

Every run has all pages; the first visits all of them, the others one of ten, and take over the
rest, as a budget of a tenth of the pages a day has it. Of twenty pages one is a copy of another,
and two are near copies.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from benchmarks.dashboard.times import (
    forget_peak,
    peak_memory,
    resident_memory,
    show,
    show_files,
)
from benchmarks.scene.database import set_up_django

NAME = "A crawl with a plan"
#: a queue of each host
QUEUES = """
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, queued, done)
SELECT %(run)s, id, 0, 0, 50 FROM crawling_host
"""
#: Pages with the same `content` are copies. With each run some pages change: of nine one in each
#: run, one in every second, and so on.
PAGES = """
WITH made AS (
    INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, state, status)
    SELECT run_id, queue_id, ('x' || md5(n::text))::bit(64)::bigint,
        'https://' || name || '/section-' || n %% 31 || '/an-article-about-' || md5(n::text),
        CASE n WHEN 1 THEN 0 ELSE 3 END, n,
        's', 200
    FROM generate_series(%(first)s::int, %(last)s) n
    JOIN place ON place = n %% (SELECT max(places) FROM place)
    RETURNING id, url, rank::int AS n
)
INSERT INTO crawling_page (url_id, run_id, status, final_url, content_type, charset, title, bytes,
    fingerprint, digest, simhash, address, fetch_seconds, fetched_at, reused_from)
SELECT id, %(run)s, 200, url, 'text/html', 'utf-8', 'Article ' || n, 20000, content,
    sha256((content || ' ' || version || ' ' || kind)::bytea),
    ('x' || md5(content || ' of ' || version))::bit(64)::bigint # (kind > 0)::int,
    '192.0.2.1', 0.2, %(began)s::timestamptz + make_interval(secs => n %% 36000),
    CASE WHEN %(number)s > 1 AND (n / 7 + %(number)s) %% 10 > 0 THEN 0 END
FROM made, LATERAL (SELECT CASE WHEN n %% 20 < 4 THEN n / 20 * 20 ELSE n END AS content,
        CASE WHEN n %% 20 IN (2, 3) THEN n %% 20 ELSE 0 END AS kind) one,
    LATERAL (SELECT %(number)s / (1 + content %% 9) AS version) two
"""


def main() -> None:
    from benchmarks.scene.database import database_of_pages

    reader = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("pages", 1_000_000), ("runs", 4), ("hosts", 20_000)):
        reader.add_argument(f"--{name}", type=int, default=usual)
    asked = reader.parse_args()
    with database_of_pages():
        crawl = fill_crawl(asked.pages, asked.runs, asked.hosts)
        _plan(crawl)
        _find_copies(crawl)


def fill_crawl(pages: int, runs: int, hosts: int) -> Any:
    """A crawl with a budget of visits, and its runs, a day apart."""
    from django.db import connection
    from django.utils import timezone

    from benchmarks.scene.installation import HOSTS
    from crawling.crawls.creation import create_crawl
    from crawling.models import AllowedNetwork, Run
    from crawling.runs.crawls.creation import create_crawl

    AllowedNetwork.objects.get_or_create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    order = {"name": NAME, "seeds": ["http://127.0.0.1:8900/"], "visits_a_day": pages // 10}
    crawl, now = create_crawl(order), timezone.now()
    with connection.cursor() as cursor:
        # slow to fill, and asked by no page here
        cursor.execute("DROP INDEX IF EXISTS pages_by_words")
        cursor.execute(HOSTS, {"hosts": hosts})
        for number in range(1, runs + 1):
            began = now - timedelta(days=runs - number, hours=11)
            facts = {"state": "finished", "is_latest": number == runs, "started_at": began}
            facts["finished_at"] = began + timedelta(hours=11)
            run = Run.objects.create(crawl=crawl, number=number, **facts)
            _fill_run(cursor, pages, {"run": run.pk, "number": number, "began": began})
        cursor.execute("VACUUM ANALYZE")
    return crawl


def _fill_run(cursor: Any, pages: int, facts: dict[str, Any]) -> None:
    from benchmarks.scene.installation import PLACES, SLICE

    cursor.execute(QUEUES, facts)
    cursor.execute("DROP TABLE IF EXISTS place")
    for statement in PLACES.split(";"):
        cursor.execute(statement, {"runs": [facts["run"]]})
    for first in range(1, pages + 1, SLICE):
        last = min(first + SLICE - 1, pages)
        cursor.execute(PAGES, facts | {"first": first, "last": last})


def _plan(crawl: Any) -> None:
    from crawling.models import PlannedRevisit

    for name in ("first plan", "plan in place of another"):
        _tell(name, partial(_plan_crawl, crawl.pk))
    planned = PlannedRevisit.objects.filter(crawl=crawl)
    middle = planned.order_by("next_at")[planned.count() // 2]
    after = f"{middle.next_at.isoformat()}_{middle.pk}"
    queries = ["", "sort=rate", "q=article", "q=a1b2c3", "q=zzzzzz", f"host={middle.host}"]
    queries += [f"host={middle.host}&sort=rate", "host=www1.nowhere.example"]
    web, api = f"/crawls/{crawl.pk}/freshness", f"/api/v1/crawls/{crawl.pk}/freshness"
    show(
        [
            *(f"{web}/?{query}" for query in (*queries, urlencode({"after": after}))),
            api,
            *(f"{api}/pages?{query}" for query in (*queries, urlencode({"cursor": after}))),
        ]
    )
    show_files([f"{web}.csv", f"{web}.csv?host={middle.host}"])


def _plan_crawl(crawl: int) -> str:
    from crawling.uses.revisits.planner import plan_crawl

    plan_crawl(crawl)
    return "planned"


def _find_copies(crawl: Any) -> None:
    from crawling.models import Run

    latest, before = Run.objects.filter(crawl=crawl).order_by("-number")[:2]
    for near in (True, False):
        for against in (None, before.pk):
            name = (
                f"{'near' if near else 'exact'} copies {'of two runs' if against else 'of a run'}"
            )
            question = {"run": latest.pk, "against": against, "near": near, "skip": 0, "most": 20}
            _tell(name, partial(_clusters, question))
    web, api = f"/crawls/{crawl.pk}", f"/api/v1/crawls/{crawl.pk}"
    kinds = ("exact", "near", "canonical")
    show(
        [
            *(f"{web}/copies/?kind={kind}" for kind in ("near", "exact")),
            f"{api}/copies",
            *(f"{web}/duplicates/?kind={kind}" for kind in kinds),
            *(f"{api}/duplicates?kind={kind}" for kind in kinds),
        ]
    )


def _clusters(question: dict[str, Any]) -> str:
    from crawling.uses.copies.clusters import answer_clusters, mebibytes

    found = answer_clusters(question)
    return f"{found['pages']:,} pages in {found['count']:,}; {mebibytes(question):,} MiB granted"


def _tell(name: str, job: Callable[[], str]) -> None:
    """Do it in a process of its own, as RQ does."""
    from django.db import connections

    connections.close_all()
    if (pid := os.fork()) == 0:
        before = resident_memory()
        forget_peak()
        began, used = time.perf_counter(), time.process_time()
        said = job()
        wall, here = time.perf_counter() - began, time.process_time() - used
        more = (peak_memory() - before) / 2**20
        print(
            f"{name}: {wall:.0f} s, {here:.0f} s of the processor here, {more:.0f} MB more; {said}",
            flush=True,
        )
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError(f"“{name}” has failed.")


if __name__ == "__main__":
    set_up_django()
    main()
