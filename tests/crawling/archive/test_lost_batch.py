"""PostgreSQL drops a session while a batch is written: its records are cut off, whatever else the
shift had in hand.
"""

from __future__ import annotations

import time
from contextlib import suppress

import psycopg
from django.db import OperationalError, connection

from allocation.models import Process
from crawling.archive.reader import index_lines
from crawling.models import Page, Shift
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import shift_was_lost
from crawling.runs.start import start_run
from tests.crawling.archive.judging import files_of, judge


class Dropped:
    """Ends the session at its first page, once."""

    def __init__(self) -> None:
        self.is_done = False

    def __call__(self, execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if "INSERT INTO crawling_runcount" in sql and not self.is_done:
            self.is_done = True
            mine = connection.connection.info.backend_pid
            with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", [mine])
        return result


def late(request):
    time.sleep(1.0)  # longer than the shift goes on, so that the page comes while it winds down
    return 200, {"Content-Type": "text/html"}, "it came while the shift was winding down"


def test_a_batch_that_was_lost_leaves_no_record_behind(make_site, order, work_off):
    site, slow = make_site({"/": "<p>soon"}), make_site({"/": late}, address="127.0.0.2")
    run = start_run(create_crawl(order(f"{site.url}/", f"{slow.url}/")))
    process = Process.objects.get()
    with connection.execute_wrapper(Dropped()), suppress(OperationalError):
        work_off(run)
    process.refresh_from_db()
    worker = Shift.objects.latest("pk").worker
    # as the worker does
    shift_was_lost(process.pk, process.epoch, "lost: it failed", worker=worker)
    work_off(run)

    judge(run)
    records = [
        line
        for file in files_of(run)
        if file.committed_length
        for line in index_lines(file)
        if "/robots.txt" not in line  # committed with a batch before, or not asked for again
    ]
    assert len(records) == Page.objects.filter(run=run).count() == 2
