"""Options of commands about a run: the number of the run, and whether the command itself makes a
job's tables.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError

from crawling.base.errors import CrawlError
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.datasets.job_tables import JobTables, TablesOfRun
from crawling.jobs.enqueue import open_job
from crawling.jobs.running import run_in_this_process
from crawling.models import Run


def add_run_option(parser: ArgumentParser) -> None:
    parser.add_argument("--run", type=int, help="a run by its number; default: the latest")


def add_tables_options(parser: ArgumentParser, what: str) -> None:
    """Add the options for the run, and for computing its tables. what: the object in the help, as
    in *compute the graph now*.
    """
    add_run_option(parser)
    words = f"compute {what} now, in this process"
    parser.add_argument("--compute", action="store_true", help=words)


def run_of(options: Mapping[str, Any]) -> Run:
    """The run that the options name. Raises UnknownCrawl or UnknownRun."""
    return get_run(find_crawl(options["crawl"]).pk, options["run"])


def run_tables(options: Mapping[str, Any], tables: TablesOfRun) -> JobTables:
    """The tables of the run. With `--compute` they are made first.

    Raises CommandError, CrawlError.
    """
    run = run_of(options)
    if options["compute"]:
        _make_tables(run, tables)
    return tables.wanted(run)


def _make_tables(run: Run, tables: TablesOfRun) -> None:
    job = open_job(tables.kind, run, by=None)
    try:
        run_in_this_process(job)
    except CrawlError as error:
        job.refresh_from_db()
        if not job.trouble:  # a background job is making them
            raise
        raise CommandError(
            f"The {tables.kind.label} could not be computed. {job.trouble}"
        ) from error
