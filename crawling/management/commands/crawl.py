"""`manage.py crawl`: make, follow and steer crawls from the command line."""

from __future__ import annotations

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from crawling.errors import BadOrder
from crawling.management.doors import plain_errors, read_json_object, require_worker
from crawling.management.follow import exit_status, follow
from crawling.management.tables import crawl_lines, crawl_table
from crawling.models import CrawlJob
from crawling.selectors import crawl_view, crawl_views, failures, find_crawl
from crawling.services import steering
from crawling.services.creating import create_crawl, name_for, start_run
from crawling.services.editing import edit_crawl

VERBS = {"pause": steering.pause, "resume": steering.resume, "stop": steering.stop}
EPILOG = """examples:
  manage.py crawl https://example.org/ --max-pages 100 --wait
  manage.py crawl --file order.json
  manage.py crawl list
  manage.py crawl show NAME        (or its number; likewise pause, resume, stop)
  manage.py crawl edit NAME --delay 2 --file changes.json
"""


class Command(BaseCommand):
    help = "Crawl the sites of the given URLs, or steer a crawl that exists."

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> Any:
        return super().create_parser(prog_name, subcommand, epilog=EPILOG, formatter_class=RawDescriptionHelpFormatter, **options)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("words", nargs="*", metavar="URL", help="seeds; or list, or show|edit|pause|resume|stop and a crawl")
        parser.add_argument("--name", help="default: the first seed's host")
        parser.add_argument("--file", type=Path, help="a JSON file with the fields of an order; options given here win")
        parser.add_argument("--scope", help="which links to follow: those to the seeds' host (default), path or domain")
        parser.add_argument("--order", help="order of visits: breadth_first (default), depth_first, best_first or opic")
        parser.add_argument("--max-pages", help="stop after so many pages")
        parser.add_argument("--max-depth", help="follow links so many steps from the seeds")
        parser.add_argument("--max-bytes", help="stop after so many bytes of documents")
        parser.add_argument("--max-seconds", help="stop so many seconds after the first fetch")
        parser.add_argument("--delay", dest="delay_seconds", help="seconds between two fetches from a host (default: 1)")
        parser.add_argument("--processes", help="crawl processes that share the hosts (default: 1)")
        parser.add_argument("--batch-size", help="URLs a host hands out at a time; 1 keeps the order exact (default: 100)")
        parser.add_argument("--no-archive", dest="archive", action="store_false", default=None, help="keep no WARC files of the answers")
        parser.add_argument("--obey-nofollow", action="store_true", default=None, help="leave links marked nofollow alone")
        parser.add_argument("--requisites", action="store_true", default=None, help="fetch images, sheets, scripts and media, too")
        parser.add_argument("--include", action="append", metavar="REGEX", help="only addresses that hold one such expression")
        parser.add_argument("--exclude", action="append", metavar="REGEX", help="no addresses that hold this expression")
        parser.add_argument("--reuse-seconds", help="take pages that another crawl fetched so lately from there (default: 0, none)")
        parser.add_argument(
            "--revisit-days", help="leave pages that stay the same alone for so many days at most (default: 0, ask each run)"
        )
        parser.add_argument("--extract", action="append", metavar="NAME=SELECTOR", help="take what the CSS selector matches out of pages")
        parser.add_argument("--cookies", action="store_true", default=None, help="keep each host's cookies for the run and send them back")
        parser.add_argument(
            "--header", dest="headers", action="append", metavar="NAME=VALUE", help="send a header (secrets belong in --file)"
        )
        parser.add_argument("--proxy", help="fetch through socks5://host:port or http://host:port (a password belongs in --file)")
        parser.add_argument("--importance", action="append", metavar="TEXT=WEIGHT", help="best first: what a piece of an address is worth")
        parser.add_argument("--path-ascending", action="store_true", default=None, help="fetch the directories above each address, too")
        parser.add_argument("--claim", action="append", metavar="CLASS=UNITS", help="the most it may hold of a resource class")
        parser.add_argument("--revision", type=int, help="with edit: only if this one is still the latest")
        parser.add_argument("--keep", type=float, metavar="MINUTES", help="with pause: keep what it holds reserved so long")
        parser.add_argument("--wait", action="store_true", help="follow the crawl to its end; exit status 1 if it failed")
        parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")

    def handle(self, *, words: list[str], wait: bool, **options: Any) -> None:
        with plain_errors():
            if words[:1] == ["list"] and len(words) == 1:
                self._list(as_json=options["json"])
            elif words[:1] == ["edit"]:
                self._edit(words[1:], options)
            elif words and words[0] in {*VERBS, "show"}:
                self._steer(words[0], words[1:], wait=wait, options=options)
            else:
                self._create(words, wait=wait, options=options)

    def _list(self, *, as_json: bool) -> None:
        views = crawl_views(list(CrawlJob.objects.all()))
        if as_json:
            self.stdout.write(json.dumps([view.as_dict() for view in views], indent=2))
        elif views:
            Console(markup=False, emoji=False).print(crawl_table(views))  # names are text, whatever brackets and colons they have
        else:
            self.stdout.write("No crawls yet. Make one: manage.py crawl https://example.org/ --max-pages 100 --wait")

    def _steer(self, verb: str, words: list[str], *, wait: bool, options: dict[str, Any]) -> None:
        if len(words) != 1:
            raise CommandError(f"`crawl {verb}` wants one crawl, by name or number.")
        crawl = find_crawl(words[0])
        if verb == "pause" and options["keep"] is not None:
            steering.pause(crawl, keep_seconds=60 * options["keep"])
        elif verb in VERBS:
            VERBS[verb](crawl)
        self._report(crawl, wait=wait, as_json=options["json"])

    def _edit(self, words: list[str], options: dict[str, Any]) -> None:
        if len(words) != 1:
            raise CommandError("`crawl edit` wants one crawl, by name or number.")
        changes = given_fields(options)
        if not changes:
            raise CommandError("`crawl edit` wants something to change, like --delay 2, or --file with fields of an order.")
        crawl = find_crawl(words[0])
        try:
            edited = edit_crawl(crawl, changes, revision=options["revision"])
        except BadOrder as error:
            raise CommandError(
                "\n  ".join(["nothing was changed:", *(f"{field}: {said}" for field, said in error.errors.items())])
            ) from error
        self._report(edited, wait=False, as_json=options["json"])

    def _create(self, seeds: list[str], *, wait: bool, options: dict[str, Any]) -> None:
        fields = order_fields(seeds, options)
        require_worker()
        try:
            crawl = create_crawl(fields)
        except BadOrder as error:
            raise CommandError(
                "\n  ".join(["the crawl was not made:", *(f"{field}: {said}" for field, said in error.errors.items())])
            ) from error
        start_run(crawl)
        self._report(crawl, wait=wait, as_json=options["json"])

    def _report(self, crawl: CrawlJob, *, wait: bool, as_json: bool) -> None:
        view = follow(crawl, show=not as_json) if wait else crawl_view(crawl)
        latest = crawl.runs.first()
        causes = failures(latest) if latest else []
        if as_json:
            failed = [{"status": status, "reason": reason, "urls": urls} for status, reason, urls in causes]
            self.stdout.write(json.dumps({**view.as_dict(), "failures": failed}, indent=2))
        else:
            self.stdout.write(crawl_lines(view, causes))
        if wait and (status := exit_status(view)):
            raise SystemExit(status)


def order_fields(seeds: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """The order's fields, unchecked, with a name."""
    fields = given_fields(options)
    if seeds:
        fields["seeds"] = seeds
    fields.setdefault("seeds", [])
    fields.setdefault("name", name_for(fields["seeds"]))
    return fields


def given_fields(options: dict[str, Any]) -> dict[str, Any]:
    """The order's fields from file and options, unchecked; what was not given is left out."""
    fields = read_json_object(options["file"], "--file") if options["file"] else {}
    for name in (
        "name",
        "scope",
        "order",
        "max_pages",
        "max_depth",
        "max_bytes",
        "max_seconds",
        "delay_seconds",
        "processes",
        "batch_size",
        "archive",
        "obey_nofollow",
        "requisites",
        "cookies",
        "proxy",
        "path_ascending",
        "include",
        "exclude",
        "reuse_seconds",
        "revisit_days",
    ):
        if options[name] is not None:
            fields[name] = options[name]
    for name in ("claim", "extract", "headers"):
        if options[name]:
            fields[name] = dict(entry.partition("=")[::2] for entry in options[name])
    if options["importance"]:
        fields["importance"] = dict(entry.rpartition("=")[::2] for entry in options["importance"])
    return fields
