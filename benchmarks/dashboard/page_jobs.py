"""What background jobs take that read all pages of a crawl, beside the memory that they hold, and
the pages and endpoints that show what they found: the plan of revisits, and clusters of copies. In
a database of its own on the server that DATABASE_URL names.

python -m benchmarks.dashboard.page_jobs [--pages 1000000 --runs 4 --hosts 20000]

Of twenty pages one is a copy of another, and two are near copies.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any
from urllib.parse import urlencode

from benchmarks.dashboard.answers import show, show_files
from benchmarks.scene.database import database_of_pages
from benchmarks.scene.planned_crawl import planned_crawl
from benchmarks.timer import in_own_process
from crawling.models import CrawlJob, PlannedRevisit, Run
from crawling.uses.copies.clusters import answer_clusters, mebibytes
from crawling.uses.revisits.planner import plan_crawl


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("pages", 1_000_000), ("runs", 4), ("hosts", 20_000)):
        reader.add_argument(f"--{name}", type=int, default=usual)
    asked = reader.parse_args()
    with database_of_pages():
        crawl = planned_crawl(asked.pages, asked.runs, asked.hosts)
        _plan(crawl)
        _find_copies(crawl)


def _plan(crawl: CrawlJob) -> None:
    for name in ("first plan", "plan in place of another"):
        in_own_process(name, partial(_planned, crawl.pk))
    planned = PlannedRevisit.objects.filter(crawl=crawl)
    middle = planned.order_by("next_at")[planned.count() // 2]
    after = f"{middle.next_at.isoformat()}_{middle.pk}"
    queries = ["", "sort=rate", "q=article", "q=a1b2c3", "q=zzzzzz", f"host={middle.host}"]
    queries += [f"host={middle.host}&sort=rate", "host=www1.nowhere.example"]
    web, api = f"/crawls/{crawl.pk}/freshness", f"/api/v1/crawls/{crawl.pk}/freshness"
    pages = [f"{web}/?{query}" for query in (*queries, urlencode({"after": after}))]
    answers = [f"{api}/pages?{query}" for query in (*queries, urlencode({"cursor": after}))]
    show([*pages, api, *answers])
    show_files([f"{web}.csv", f"{web}.csv?host={middle.host}"])


def _planned(crawl: int) -> str:
    plan_crawl(crawl)
    return "planned"


def _find_copies(crawl: CrawlJob) -> None:
    latest, before = Run.objects.filter(crawl=crawl).order_by("-number")[:2]
    for near, kind in ((True, "near"), (False, "exact")):
        for against, of in ((None, "of a run"), (before.pk, "of two runs")):
            question = {"run": latest.pk, "against": against, "near": near, "skip": 0, "most": 20}
            in_own_process(f"{kind} copies {of}", partial(_clusters, question))
    web, api = f"/crawls/{crawl.pk}", f"/api/v1/crawls/{crawl.pk}"
    copies = [f"{web}/copies/?kind={kind}" for kind in ("near", "exact")]
    kinds = ("exact", "near", "canonical")
    duplicates = [
        f"{at}?kind={kind}" for at in (f"{web}/duplicates/", f"{api}/duplicates") for kind in kinds
    ]
    show([*copies, f"{api}/copies", *duplicates])


def _clusters(question: dict[str, Any]) -> str:
    found = answer_clusters(question)
    return f"{found['pages']:,} pages in {found['count']:,}; {mebibytes(question):,} MiB granted"


if __name__ == "__main__":
    main()
