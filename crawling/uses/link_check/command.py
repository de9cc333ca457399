"""`crawl check`: crawl a site, and print the problems of its links and pages, grouped by the page
to be corrected, with an exit status for CI.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from crawling.base.errors import BadOrder, WrongState
from crawling.dashboard.management.command_errors import page_address, plain_errors, require_worker
from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.follow_run import follow
from crawling.dashboard.management.orders import add_order_arguments, order_fields
from crawling.datasets.catch_up import catch_up
from crawling.datasets.parts import count_pages_behind
from crawling.datasets.second_reading import read_run_again
from crawling.models import CrawlJob, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import EDITABLE, edit_crawl
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.start import start_run
from crawling.uses.link_check.link_check import (
    SLOW_SECONDS,
    incomplete_kinds,
    junit_lines,
    problem_rows,
)
from crawling.uses.link_check.problem_kinds import ProblemKind

WORDS = (
    "crawl a site and print the problems of its links and pages; exit status 0 if there is none of "
    "--fail-on, 1 if there is one, 2 if the site could not be checked"
)
#: the exit status if links could not be checked
NOT_CHECKED = 2


def add_check_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("seeds", nargs="+", metavar="URL", help="where the site begins")
    parser.add_argument(
        "--fail-on",
        type=_kinds,
        default=[ProblemKind.BROKEN],
        metavar="KIND,…",
        help="kinds of problem with which the exit status is 1, or `all` (default: broken). "
        f"Kinds: {', '.join(ProblemKind)}",
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep the crawl; without this a crawl that the check has made is deleted at its end",
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report, too")
    parser.add_argument(
        "--slow",
        type=float,
        default=SLOW_SECONDS,
        metavar="SECONDS",
        help="an answer that takes so long is slow (default: %(default)s)",
    )
    add_order_arguments(parser)


def _kinds(text: str) -> list[ProblemKind]:
    try:
        return list(ProblemKind if text == "all" else map(ProblemKind, text.split(",")))
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; kinds: {', '.join(ProblemKind)}") from error


def check_links(options: dict[str, Any], out: OutputWrapper) -> None:
    if status := check_site_by_command(options, out):
        raise SystemExit(status)


def check_site_by_command(options: dict[str, Any], out: OutputWrapper) -> int:
    """Crawl and report. Return the exit status. Raises CommandError with it if the site could not
    be checked.
    """
    try:
        with plain_errors():
            require_worker()
            with _crawl_of_site(options) as crawl:
                run = _finished_run(crawl, options)
                catch_up(run.pk)
                read_run_again(run.pk)
                found = _print_problems(run, options, out)
                behind = count_pages_behind(run)
    except CommandError as error:
        error.returncode = NOT_CHECKED
        raise
    if behind:
        raise CommandError(
            f"The links of {behind:,} pages are not known here: their archive is on another "
            "machine, or was not kept.",
            returncode=NOT_CHECKED,
        )
    return int(any(found[kind] for kind in options["fail_on"]))


@contextmanager
def _crawl_of_site(options: dict[str, Any]) -> Iterator[CrawlJob]:
    """The crawl with this name, or a new crawl, which is deleted afterwards unless it is kept or
    continues.
    """
    fields = order_fields(options["seeds"], options)
    fields.setdefault("requisites", True)
    known = CrawlJob.objects.filter(name=fields["name"]).first()
    try:
        if known is None:
            crawl = create_crawl(fields)
        elif known.seeds != fields["seeds"]:
            raise CommandError(
                f"The crawl {known.name} has other start URLs: choose another --name."
            )
        else:
            changes = {name: value for name, value in fields.items() if name in EDITABLE}
            crawl = edit_crawl(known, changes)
    except BadOrder as error:
        mistakes = (f"{field}: {said}" for field, said in error.errors.items())
        raise CommandError("\n  ".join(["the site was not crawled:", *mistakes])) from error
    try:
        yield crawl
    finally:
        if known is None and not options["keep"]:
            with suppress(WrongState):  # the crawl was paused, or the command interrupted
                delete_crawl(crawl, by=None, for_good=True)


def _finished_run(crawl: CrawlJob, options: dict[str, Any]) -> Run:
    run = start_run(crawl)
    view, _ = follow(crawl, show=not options["json"])
    if view.state not in ENDED_STATES:
        raise CommandError(f"The crawl has not ended: {view.state}: {view.reason}")
    return run


def _print_problems(run: Run, options: dict[str, Any], out: OutputWrapper) -> Counter[str]:
    """Print the problems. Return the number of each kind."""
    slow, kinds = options["slow"], list(ProblemKind)
    rows = list(problem_rows(run, kinds, slow_seconds=slow))
    if options["junit"]:
        lines = junit_lines(kinds, rows, incomplete_kinds(run, kinds))
        _write_report(options["junit"], "".join(lines))
    found = Counter(row["kind"] for row in rows)
    rows.sort(key=lambda row: (row["page"], row["kind"]))
    if options["json"]:
        for row in rows:
            out.write(json.dumps(row))
        return found
    for page, problems in groupby(rows, lambda row: row["page"]):
        out.write(page or "(no page links to these)")
        for row in problems:
            out.write(f"  {_problem_line(row)}")
    counts = ", ".join(f"{found[kind]:,} {kind}" for kind in kinds if found[kind])
    out.write(counts or "No problem was found.")
    if options["keep"]:
        out.write(f"  {page_address('crawling:links', run.crawl_id)}")
    return found


def _write_report(path: Path, report: str) -> None:
    try:
        path.write_text(report, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"--junit: {error.strerror}: {path}") from error


def _problem_line(row: dict[str, Any]) -> str:
    url = "" if row["page"] == row["url"] else row["url"]
    place = " ".join(filter(None, (row["element"], row["attribute"], row["place"])))
    text = row["anchor"] and f"“{row['anchor']}”"
    return "  ".join(filter(None, (row["kind"], url, row["detail"], place, text)))


COMMANDS = (Subcommand("check", WORDS, add_check_arguments, check_links, has_crawl=False),)
