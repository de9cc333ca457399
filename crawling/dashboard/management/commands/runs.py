"""`manage.py runs`: list the runs of a crawl, delete one, and set which are kept."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import filesizeformat

from crawling.base.errors import BadOrder
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.management.command_errors import plain_errors
from crawling.models import CrawlJob, Run
from crawling.runs.housekeeping.deletion import restore_run
from crawling.runs.housekeeping.retention import set_retention
from crawling.runs.housekeeping.retention_view import kept_runs
from crawling.runs.housekeeping.run_removal import remove_run

#: the option of the command for each rule
OPTION_OF = {"keep_runs": "last", "keep_days": "days", "max_bytes": "bytes"}


class Command(BaseCommand):
    help = (
        "List runs with their size and deletion time, delete or restore a run, or set the "
        "retention rules (without rules: keep all)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("verb", choices=("list", "delete", "restore", "keep"))
        parser.add_argument("crawl", help="its name or number")
        parser.add_argument(
            "run", nargs="?", type=int, help="the number of a run, to delete or restore it"
        )
        parser.add_argument(
            "--last", type=int, metavar="N", help="with keep: number of latest runs to keep"
        )
        parser.add_argument(
            "--days",
            type=int,
            metavar="N",
            help="with keep: days after its end until a run is deleted",
        )
        parser.add_argument(
            "--bytes",
            type=int,
            metavar="N",
            help="with keep: bytes of archive files; the oldest runs beyond are deleted",
        )
        parser.add_argument("--json", action="store_true", help="print JSON, for programs")

    def handle(self, *, verb: str, crawl: str, run: int | None, **options: Any) -> None:
        with plain_errors():
            job = find_crawl(crawl)
            if verb in ("delete", "restore"):
                self._change_run(job, verb, run)
            elif verb == "keep":
                self._set_retention(job, options)
            self._print_runs(job, as_json=options["json"])

    def _change_run(self, crawl: CrawlJob, verb: str, number: int | None) -> None:
        if number is None:
            raise CommandError(f"`runs {verb}` needs a crawl and the number of a run.")
        if verb == "delete":
            remove_run(get_run(crawl.pk, number), by=None)
            return
        gone = Run.all_objects.filter(crawl=crawl, number=number).first()
        restore_run(gone.pk if gone else 0, by=None)

    def _set_retention(self, crawl: CrawlJob, options: dict[str, Any]) -> None:
        rules = {
            field: options[option]
            for field, option in OPTION_OF.items()
            if options[option] is not None
        }
        try:
            set_retention(crawl, rules, by=None)
        except BadOrder as error:
            raise CommandError(
                "; ".join(f"--{OPTION_OF[field]} {said}" for field, said in error.errors.items())
            ) from error

    def _print_runs(self, crawl: CrawlJob, *, as_json: bool) -> None:
        rows = kept_runs(crawl)
        if as_json:
            facts = [
                {
                    "run": one.run.number,
                    "state": one.run.state,
                    "pages": one.pages,
                    "archive_bytes": one.file_bytes,
                }
                for one in rows
            ]
            fates = [
                {
                    "goes_at": one.fate.goes_at and one.fate.goes_at.isoformat(),
                    "sentence": one.fate.sentence,
                }
                for one in rows
            ]
            self.stdout.write(
                json.dumps(
                    [{**fact, **fate} for fact, fate in zip(facts, fates, strict=True)], indent=2
                )
            )
            return
        for one in rows:
            self.stdout.write(
                f"run {one.run.number}  {one.run.state}  {one.pages:,} pages  "
                f"{filesizeformat(one.file_bytes)}  {one.fate.sentence}"
            )
        if not rows:
            self.stdout.write(f"{crawl.name} has no runs.")
