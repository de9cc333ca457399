"""`crawl job`: background jobs."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from crawling.base.errors import NotFound
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.jobs.job_list import STATES, JobRow, job_facts, listed_jobs, rows_for
from crawling.jobs.cancel import cancel_job, run_job_again
from crawling.jobs.job_rows import visible_jobs
from crawling.jobs.kinds import job_kinds
from crawling.models import BackgroundJob

SHOWN = 50


WORDS = "list background jobs; show, cancel one or run it again"


def add_job_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("number", type=int, nargs="?", metavar="ID", help="default: list them")
    acts = parser.add_mutually_exclusive_group()
    acts.add_argument("--cancel", action="store_true", help="end the job")
    acts.add_argument(
        "--run-again", action="store_true", help="ask again for what has failed, or was cancelled"
    )
    parser.add_argument("--kind", default="", choices=tuple(job_kinds()), help="list this kind")
    parser.add_argument("--state", default="", choices=tuple(STATES), help="list this state")
    parser.add_argument("--of", metavar="CRAWL", help="list jobs of this crawl: name or number")


def show_jobs(options: dict[str, Any]) -> str:
    """Run the command and return the text to print. Raises CrawlError."""
    if options["number"] is not None:
        row = rows_for(None, [_acted_on(options)])[0]
        return json.dumps(job_facts(row), default=str) if options["json"] else _line(row)
    if options["cancel"] or options["run_again"]:
        raise NotFound("Which job? Its number stands in `./crawl job`.")
    crawl = find_crawl(options["of"]).pk if options["of"] else None
    found = listed_jobs(kind=options["kind"], state=options["state"], crawl=crawl)
    rows = rows_for(None, list(found[:SHOWN]))
    if options["json"]:
        return json.dumps([job_facts(row) for row in rows], indent=2, default=str)
    return "\n".join(map(_line, rows)) or "There are no such jobs."


def _acted_on(options: dict[str, Any]) -> BackgroundJob:
    job = visible_jobs().select_related("run__crawl").filter(pk=options["number"]).first()
    if job is None:
        raise NotFound(f"There is no job {options['number']}.")
    if options["cancel"]:
        return cancel_job(job, by=None)
    return run_job_again(job, by=None) if options["run_again"] else job


def _line(row: JobRow) -> str:
    job = row.job
    of = f" of {job.run}" if job.run else ""
    done = f" {job.percent} %" if job.is_open and job.percent is not None else ""
    left = f", {job.time_left} left" if job.time_left else ""
    why = row.trouble or (job.is_open and job.waits)
    asked = f"{job.asked_at:%Y-%m-%d %H:%M} UTC"
    said = f"{job.pk}  {row.label}{of}  {job.state}{done}{left}  asked for {asked}"
    return f"{said}  {why}" if why else said
