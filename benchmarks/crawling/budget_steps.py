"""What `benchmarks.crawling.budget` does with a database: `python -m
benchmarks.crawling.budget_steps prepare|crawl|read|watch [SEED ...]`

prepare: let the server count statements from its next start on. crawl: threads and statements of a
crawl by one worker. read: the second readings of the last crawl's pages. watch: a crawl of
each site by the product that runs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

from benchmarks.scene.database import set_up_django
from benchmarks.waiting import await_change

LOOK_SECONDS = 0.5
LONGEST_SECONDS = 600.0
#: statements that take less than this part of the server's time are left out
LEAST_SHARE = 0.02
SHOWN_LENGTH = 90
STATEMENTS = """
SELECT regexp_replace(query, '\\s+', ' ', 'g'), calls, total_exec_time / 1000
FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
ORDER BY 3 DESC
"""


def prepare() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_stat_statements'")
        if cursor.fetchone():
            cursor.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")


def crawl(seed: str) -> None:
    from django.db import connection

    from benchmarks.crawling.speed import measure
    from benchmarks.scene.crawls import make_ready
    from crawling.models import Page

    make_ready()
    with connection.cursor() as cursor:
        cursor.execute("SHOW shared_preload_libraries")
        is_counted = "pg_stat_statements" in cursor.fetchone()[0]
        if is_counted:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            cursor.execute("SELECT pg_stat_statements_reset()")
    measure([seed], 1, {}, with_stages=True)
    if not is_counted:
        print("Statements: not measured, pg_stat_statements is not installed")
        return
    pages = Page.objects.count()
    with connection.cursor() as cursor:
        cursor.execute(STATEMENTS)
        rows = cursor.fetchall()
    total = sum(seconds for *_, seconds in rows)
    print(f"PostgreSQL's statements, {1000 * total / pages:.3f} ms a page by its clock:")
    for query, calls, seconds in rows:
        if seconds >= LEAST_SHARE * total:
            told = query[:SHOWN_LENGTH]
            print(f"{1000 * seconds / pages:10.3f}  {calls / pages:6.3f} calls a page  {told}")


def read() -> None:
    """By function, of this process; and of the program that reads microformats."""
    from crawling.datasets import catch_up, second_reading
    from crawling.datasets.microformats import MicroformatsReader
    from crawling.datasets.progress import unindexed_parts, unread_parts
    from crawling.models import Run
    from crawling.uses.search.index import add_parts, writing
    from crawling.web.documents.structured_data import StructuredDataReader

    spent: Counter[str] = Counter()
    names = "parse_html find_in_html bad_links text_of language_of"
    for name in (*names.split(), "put_findings", "put_structured", "put_texts"):
        setattr(second_reading, name, timed(getattr(second_reading, name), spent, name))
    for name in ("read", "read_microformats", "read_text"):
        wrapped = timed(getattr(StructuredDataReader, name), spent, f"StructuredDataReader.{name}")
        setattr(StructuredDataReader, name, wrapped)
    items = timed(MicroformatsReader.items, spent, "MicroformatsReader.items")
    setattr(MicroformatsReader, "items", items)  # noqa: B010
    run = Run.objects.latest("pk")
    write_collected = timed(catch_up.write_collected, spent, "the links' dataset")
    write_collected(run.pk)
    began, children = time.process_time(), children_seconds()
    pages = sum(second_reading.read_part(run, part) or 0 for part in list(unread_parts(run)))
    reading, microformats = time.process_time() - began, children_seconds() - children
    began = time.process_time()
    with writing() as index:
        add_parts(index, list(unindexed_parts().filter(run=run)))
    indexing = time.process_time() - began
    spent |= Counter({"the program for microformats": microformats, "the index": indexing})
    total = spent["the links' dataset"] + reading + microformats + indexing
    print(
        f"Second readings of {pages:,} pages, {1000 * total / pages:.3f} ms of a processor a page:"
    )
    spent["others: stored answers, rows"] = total - spent.total()  # type: ignore[assignment]
    for name, seconds in spent.most_common():
        print(f"{1000 * seconds / pages:10.3f}  {name}")


def timed(do: Callable[..., Any], spent: Counter[str], name: str) -> Callable[..., Any]:
    """The same, whose time of the processor is added up under a name."""

    @wraps(do)
    def call(*given: Any, **options: Any) -> Any:
        began = time.thread_time()
        try:
            return do(*given, **options)
        finally:
            spent[name] += time.thread_time() - began  # type: ignore[assignment]

    return call


def children_seconds() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watch(*seeds: str) -> None:
    """Crawl each seed's site by a crawl of its own, all at once."""
    from django.db.models import Max, Min

    from crawling.installation.identity import set_identity
    from crawling.models import AllowedNetwork, Page, Run
    from crawling.models.jobs import ENDED_STATES
    from crawling.runs.crawls.creation import create_crawl
    from crawling.runs.start import start_run

    set_identity("crawlsite", "https://crawls.example.org/about")
    AllowedNetwork.objects.get_or_create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    crawls = [
        create_crawl({"name": f"budget {number}", "seeds": [seed], "delay_seconds": 0})
        for number, seed in enumerate(seeds)
    ]
    runs = Run.objects.filter(pk__in=[start_run(crawl).pk for crawl in crawls])
    await_change(
        lambda: not runs.exclude(state__in=ENDED_STATES).exists(),
        "The crawl does not end.",
        seconds=LONGEST_SECONDS,
        every=LOOK_SECONDS,
    )
    assert not runs.filter(started_at=None).exists()
    times = runs.aggregate(first=Min("started_at"), last=Max("finished_at"))
    pages, seconds = Page.objects.filter(run__in=runs).count(), times["last"] - times["first"]
    rate = pages / seconds.total_seconds()
    print(f"{pages:,} pages in {seconds.total_seconds():.1f} s, {rate:.0f} a second")


STEPS: dict[str, Callable[..., None]] = {
    "prepare": prepare,
    "crawl": crawl,
    "read": read,
    "watch": watch,
}


if __name__ == "__main__":
    set_up_django()
    STEPS[sys.argv[1]](*sys.argv[2:])
