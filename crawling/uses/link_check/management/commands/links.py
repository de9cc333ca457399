"""`manage.py links`: list a run's links or their problems, or make its links dataset again."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.lags import tell_lag
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.management.command_errors import plain_errors
from crawling.datasets.catch_up import catch_up
from crawling.datasets.lag import Derived, lag_of
from crawling.datasets.parts import MOST_BEHIND, count_pages_behind, drop_dataset
from crawling.datasets.second_reading import read_run_again
from crawling.models import Run
from crawling.uses.link_check.link_check import (
    SLOW_SECONDS,
    incomplete_kinds,
    junit_lines,
    problem_rows,
)
from crawling.uses.link_check.list_orders import LinkSort
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.uses.link_check.reports import list_links

ROWS = 1_000
VERBS = ("list", "check", "read-again", "catch-up", "rebuild")


class Command(BaseCommand):
    help = (
        "List the links of a run, or the problems of its links and pages; add the links of pages "
        "that are not in the dataset yet; or read all pages of the run again from the archive: for "
        "missing fragments and errors of HTML (read-again), or for their links (rebuild). A "
        "command that was stopped continues with `catch-up`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("verb", choices=VERBS)
        parser.add_argument("crawl", help="its name or number")
        parser.add_argument("--run", type=int, help="its number; the latest without it")
        parser.add_argument("--page", default="", help="with list: only links of this page")
        parser.add_argument("--target", default="", help="with list: only links to this URL")
        parser.add_argument("--host", default="", help="with list: only links to this host")
        parser.add_argument(
            "--sort",
            choices=list(map(str, LinkSort)),
            help="with list: by a column, falling with -; without it in the order of finding",
        )
        parser.add_argument(
            "--kind",
            action="append",
            choices=list(map(str, ProblemKind)),
            help="with check: only problems of this kind; may be repeated",
        )
        parser.add_argument(
            "--slow",
            type=float,
            default=SLOW_SECONDS,
            metavar="SECONDS",
            help="with check: an answer that takes so long is slow (default: %(default)s)",
        )
        parser.add_argument("--junit", action="store_true", help="with check: print a JUnit report")
        parser.add_argument("--json", action="store_true", help="print JSON, an object a line")

    def handle(self, *, verb: str, crawl: str, run: int | None, **options: Any) -> None:
        with plain_errors():
            one = get_run(find_crawl(crawl).pk, run)
            if verb in ("list", "check"):
                tell_lag(lag_of(one, Derived.TEXTS if verb == "check" else Derived.LINKS))
            if verb == "list":
                for row in _link_rows(one, options):
                    self.stdout.write(json.dumps(row) if options["json"] else _line(row))
                return
            if verb == "check":
                self._print_problems(one, options)
                return
            if verb == "read-again":
                read_run_again(one.pk, note=self._print_progress)
                return
            if verb == "rebuild":
                drop_dataset(one.pk)
            catch_up(one.pk, note=self._print_progress)
            behind = count_pages_behind(one)
            more = "+" if behind == MOST_BEHIND else ""
            self.stdout.write(
                f"Run {one.number}: {behind:,}{more} pages are not in the dataset."
                if behind
                else f"Run {one.number}: all pages are in the dataset."
            )

    def _print_progress(self, pages: int) -> None:
        self.stdout.write(f"{pages:,} pages read")

    def _print_problems(self, run: Run, options: dict[str, Any]) -> None:
        kinds = list(map(ProblemKind, options["kind"] or ProblemKind))
        rows = problem_rows(run, kinds, slow_seconds=options["slow"])
        if options["junit"]:
            for line in junit_lines(kinds, rows, incomplete_kinds(run, kinds)):
                self.stdout.write(line, ending="")
            return
        for row in rows:
            self.stdout.write(json.dumps(row) if options["json"] else _problem_line(row))


def _link_rows(run: Run, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    after: str | None = ""
    while after is not None:
        asked = {name: options[name] for name in ("page", "target", "host")}
        sort = LinkSort(options["sort"]) if options["sort"] else None
        found, after = list_links(run, **asked, sort=sort, after=after, most=ROWS)
        yield from map(asdict, found)


def _line(row: dict[str, Any]) -> str:
    return f"{row['page']}  {row['target']}  {_place_in_words(row)}"


def _problem_line(row: dict[str, Any]) -> str:
    target = "" if row["page"] == row["url"] else f"  {row['url']}"
    facts = f"{row['page'] or '-'}  {row['kind']}{target}  {row['detail']}"
    return f"{facts}  {_place_in_words(row)}".rstrip()


def _place_in_words(row: dict[str, Any]) -> str:
    place = " ".join(filter(None, (row["element"], row["attribute"], row["place"])))
    return f"{place}  {row['anchor']}".strip()
