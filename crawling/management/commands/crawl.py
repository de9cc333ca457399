"""`manage.py crawl`, or `./crawl`: make, follow and steer crawls from the command line."""

from __future__ import annotations

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from crawling.errors import BadOrder
from crawling.management import verbs
from crawling.management.doors import page_of, plain_errors, require_worker
from crawling.management.follow import exit_status, follow
from crawling.management.log import add_log_arguments, show_log
from crawling.management.orders import add_order_arguments, given_fields, order_fields
from crawling.management.seeds import add_seeds_arguments, add_to_crawl
from crawling.management.tables import crawl_lines, crawl_table
from crawling.models import CrawlJob
from crawling.selectors import crawl_view, crawl_views, failures, find_crawl
from crawling.services.creating import create_crawl, start_run
from crawling.services.editing import edit_crawl

EPILOG = """examples:
  ./crawl https://example.org/ --max-pages 100 --wait
  ./crawl --file order.json
  ./crawl list
  ./crawl show NAME        (or its number; likewise start, pause, resume, stop, abort, retry)
  ./crawl log NAME --level warning --follow
  ./crawl add NAME https://example.org/more/
  ./crawl edit NAME --delay 2 --file changes.json
  ./crawl clone NAME --name COPY
  ./crawl delete NAME

Whatever else the dashboard does: manage.py api --help
"""


class Command(BaseCommand):
    help = "Crawl the sites of the given URLs, or steer a crawl that exists."

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> Any:
        return super().create_parser(prog_name, subcommand, epilog=EPILOG, formatter_class=RawDescriptionHelpFormatter, **options)

    def add_arguments(self, parser: ArgumentParser) -> None:
        known = "|".join([*verbs.VERBS, "log", "add", "edit", "clone", "delete"])
        parser.add_argument("words", nargs="*", metavar="URL", help=f"seeds; or list; or {known} and a crawl".replace("%", "%%"))
        add_order_arguments(parser)
        parser.add_argument("--revision", type=int, help="with edit: only if this one is still the latest")
        parser.add_argument("--keep", type=float, metavar="MINUTES", help="with pause: keep what it holds reserved so long")
        parser.add_argument("--status", type=int, metavar="N", help="with retry: only what failed so (default: all that failed)")
        parser.add_argument("--tags", metavar="TAG,TAG", help="with tag: the tags it then has (default: none)")
        parser.add_argument(
            "--wait",
            action="store_true",
            help="follow the crawl to its end, and say what it waits for; exit status 1 if it failed, 3 if it goes on after --max-seconds",
        )
        add_seeds_arguments(parser)
        add_log_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object, for programs; with log one a line")

    def handle(self, *, words: list[str], **options: Any) -> None:
        wait = options["wait"] or options["follow"]
        with plain_errors():
            if words == ["list"]:
                self._list(as_json=options["json"])
            elif words[:1] == ["log"]:
                show_log(words[1:], options, lambda line: self.stdout.write(line, ending=""))
            elif words[:1] == ["add"]:
                self.stdout.write(add_to_crawl(words[1:], options))
            elif words and words[0] in {*verbs.VERBS, "edit", "clone", "delete"}:
                self._act(words[0], words[1:], wait=wait, options=options)
            else:
                self._create(words, wait=wait, options=options)

    def _list(self, *, as_json: bool) -> None:
        views = crawl_views(list(CrawlJob.objects.all()))
        if as_json:
            self.stdout.write(json.dumps([view.as_dict() for view in views], indent=2))
        elif views:
            Console(markup=False, emoji=False).print(crawl_table(views))  # names are text, whatever brackets and colons they have
            self.stdout.write(page_of("crawling:crawls"))
        else:
            self.stdout.write("No crawls yet. Make one: ./crawl https://example.org/ --max-pages 100 --wait")

    def _act(self, verb: str, words: list[str], *, wait: bool, options: dict[str, Any]) -> None:
        if len(words) != 1:
            raise CommandError(f"`crawl {verb}` wants one crawl, by name or number.")
        crawl = find_crawl(words[0])
        if verb == "delete":
            verbs.delete(crawl, words[0])
            self.stdout.write(json.dumps({"deleted": crawl.name}) if options["json"] else f"{crawl.name} is deleted with all it had found.")
        elif verb == "edit":
            self._report(self._edited(crawl, options), wait=False, as_json=options["json"])
        elif verb == "clone":
            self._report(verbs.clone(crawl, options), wait=False, as_json=options["json"])
        else:
            verbs.VERBS[verb](crawl, options)
            self._report(crawl, wait=wait, as_json=options["json"])

    def _edited(self, crawl: CrawlJob, options: dict[str, Any]) -> CrawlJob:
        changes = given_fields(options)
        if not changes:
            raise CommandError("`crawl edit` wants something to change, like --delay 2, or --file with fields of an order.")
        try:
            return edit_crawl(crawl, changes, revision=options["revision"])
        except BadOrder as error:
            raise _refused("nothing was changed:", error) from error

    def _create(self, seeds: list[str], *, wait: bool, options: dict[str, Any]) -> None:
        fields = order_fields(seeds, options)
        require_worker()
        try:
            crawl = create_crawl(fields)
        except BadOrder as error:
            raise _refused("the crawl was not made:", error) from error
        start_run(crawl)
        self._report(crawl, wait=wait, as_json=options["json"])

    def _report(self, crawl: CrawlJob, *, wait: bool, as_json: bool) -> None:
        crawl.refresh_from_db()
        view, is_late = follow(crawl, show=not as_json) if wait else (crawl_view(crawl), False)
        latest = crawl.runs.first()
        causes = failures(latest) if latest else []
        page = page_of("crawling:crawl", crawl.pk)
        if as_json:
            failed = [{"status": status, "reason": reason, "urls": urls} for status, reason, urls in causes]
            self.stdout.write(json.dumps({**view.as_dict(), "failures": failed, "page": page}, indent=2))
        else:
            self.stdout.write(f"{crawl_lines(view, causes)}\n  {page}")
        if wait and (status := exit_status(view, is_late=is_late)):
            raise SystemExit(status)


def _refused(what: str, error: BadOrder) -> CommandError:
    return CommandError("\n  ".join([what, *(f"{field}: {said}" for field, said in error.errors.items())]))
