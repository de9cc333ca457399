"""What `benchmarks.crawling.budget` does with a database: `python -m
benchmarks.crawling.budget_steps prepare|crawl|read|watch [SEED ...]`

prepare: let the server count statements from its next start on. crawl: threads and statements of a
crawl by one worker. read: the second readings of the last crawl's pages. watch: a crawl of
each site by the product that runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from django.db import connection
from django.db.models import Max, Min

from benchmarks.crawling import stage_costs
from benchmarks.crawling.speed import measure, print_spent
from benchmarks.scene.crawls import allow_loopback, begin, have_ended, make_ready
from benchmarks.scene.database import tell
from benchmarks.timer import await_change, timed
from crawling.datasets.catch_up import write_collected
from crawling.datasets.progress import unindexed_parts, unread_parts
from crawling.datasets.second_reading import read_part
from crawling.models import Page, Run
from crawling.uses.search.index import add_parts, writing

LOOK_SECONDS = 0.5
LONGEST_SECONDS = 600.0
#: statements that take less than this part of the server's time are left out
LEAST_SHARE = 0.02
SHOWN_LENGTH = 90
COUNTED = "pg_stat_statements"
STATEMENTS = """
SELECT regexp_replace(query, '\\s+', ' ', 'g'), calls, total_exec_time / 1000
FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
ORDER BY 3 DESC
"""
READING = {
    **{
        name: [f"crawling.datasets.second_reading:{name}"]
        for name in (
            *("parse_html", "find_in_html", "bad_links", "text_of", "language_of"),
            *("put_findings", "put_structured", "put_texts"),
        )
    },
    **{
        f"StructuredDataReader.{name}": [
            f"crawling.web.documents.structured_data:StructuredDataReader.{name}"
        ]
        for name in ("read", "read_microformats", "read_text")
    },
    "MicroformatsReader.items": ["crawling.datasets.microformats:MicroformatsReader.items"],
}


def prepare() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = %s", [COUNTED])
        if cursor.fetchone():
            cursor.execute(f"ALTER SYSTEM SET shared_preload_libraries = '{COUNTED}'")


def crawl(seed: str) -> None:
    make_ready()
    with connection.cursor() as cursor:
        cursor.execute("SHOW shared_preload_libraries")
        is_counted = COUNTED in cursor.fetchone()[0]
    if is_counted:
        tell(f"CREATE EXTENSION IF NOT EXISTS {COUNTED}", "SELECT pg_stat_statements_reset()")
    measure([seed], 1, with_stages=True)
    if not is_counted:
        print(f"Statements: not measured, {COUNTED} is not installed")
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
    stage_costs.install(READING)
    run = Run.objects.latest("pk")
    with timed() as dataset:
        write_collected(run.pk)
    with timed() as reading:
        pages = sum(read_part(run, part) or 0 for part in list(unread_parts(run)))
    spent = stage_costs.spent()
    with timed() as indexing, writing() as index:
        add_parts(index, list(unindexed_parts().filter(run=run)))
    others = reading.here - reading.children - spent.total()
    told = {
        **spent,
        "the links' dataset": dataset.here,
        "the program for microformats": reading.children,
        "the index": indexing.here,
        "others: stored answers, rows": others,
    }
    total = sum(told.values())
    print(
        f"Second readings of {pages:,} pages, {1000 * total / pages:.3f} ms of a processor a page:"
    )
    print_spent(told, pages)


def watch(*seeds: str) -> None:
    """Crawl each seed's site by a crawl of its own, all at once."""
    allow_loopback()
    keys = [begin("budget", [seed]).pk for seed in seeds]
    await_change(
        lambda: have_ended(keys),
        "The crawl does not end.",
        seconds=LONGEST_SECONDS,
        every=LOOK_SECONDS,
    )
    runs = Run.objects.filter(pk__in=keys)
    assert not runs.filter(started_at=None).exists()
    times = runs.aggregate(first=Min("started_at"), last=Max("finished_at"))
    pages = Page.objects.filter(run__in=keys).count()
    seconds = (times["last"] - times["first"]).total_seconds()
    print(f"{pages:,} pages in {seconds:.1f} s, {pages / seconds:.0f} a second")


STEPS: dict[str, Callable[..., None]] = {
    step.__name__: step for step in (prepare, crawl, read, watch)
}


if __name__ == "__main__":
    STEPS[sys.argv[1]](*sys.argv[2:])
