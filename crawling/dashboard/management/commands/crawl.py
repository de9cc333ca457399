"""`manage.py crawl`, or `./crawl`: create, follow and control crawls from the command line."""

from __future__ import annotations

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, OutputWrapper
from rich.console import Console

from crawling.base.errors import BadOrder
from crawling.base.use import offered_by_uses
from crawling.dashboard.base.crawl_views import crawl_view, crawl_views, find_crawl
from crawling.dashboard.base.recently_deleted import deleted_rows
from crawling.dashboard.management import bulk, cancelling, crawl_verbs, jobs
from crawling.dashboard.management.command_errors import (
    page_address,
    plain_errors,
    refusal_error,
    require_worker,
)
from crawling.dashboard.management.command_words import Commands, command_first
from crawling.dashboard.management.crawl_verbs import add_seeds_arguments, add_to_crawl
from crawling.dashboard.management.follow_run import exit_status, follow
from crawling.dashboard.management.log import add_log_arguments, show_log
from crawling.dashboard.management.orders import add_order_arguments, given_fields, order_fields
from crawling.dashboard.management.share_links import add_share_arguments, change_share_links
from crawling.dashboard.management.tables import crawl_lines, crawl_table, without_controls
from crawling.models import CrawlJob
from crawling.orders.rendering_needs import rendering_sentences
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.earlier_renderings import needs_of_rendering
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.crawls.scope_tests import changed_order
from crawling.runs.failure_causes import failure_causes
from crawling.runs.start import start_run

PROGRAM = "./crawl"
EPILOG = """examples:
  ./crawl https://example.org/ --max-pages 100 --wait    (short for: ./crawl new https://…)
  ./crawl new --file order.json
  ./crawl check https://example.org/ --fail-on broken,redirected --junit report.xml
  ./crawl list
  ./crawl show NAME        (or its number)
  ./crawl search apple tree --host example.org
  ./crawl log NAME --level warning --follow
  ./crawl bulk start --tag weekly
  ./crawl bulk export --state finished --output crawls.zip
  ./crawl add NAME https://example.org/more/
  ./crawl edit NAME --delay 2 --file changes.json
  ./crawl clone NAME --name COPY
  ./crawl graph NAME --compute --sort in_links
  ./crawl copies NAME --against OTHER
  ./crawl structured-data NAME --kind json-ld
  ./crawl tables NAME https://example.org/ --table 1 --export table.csv
  ./crawl share NAME --days 7
  ./crawl wacz NAME --output books.wacz
  ./crawl mirror NAME --output books
  ./crawl job --state failed
  ./crawl cancel-job NAME mirror
  ./crawl import books.wacz other.warc.gz
  ./crawl watch NAME --pattern /prices/ --selector main
  ./crawl delete NAME
  ./crawl restore NAME
  ./crawl plan --pages 1000000 --days 7

`./crawl COMMAND --help` lists the options of a command.
All else that the dashboard does: manage.py api --help
"""
#: the number of failure causes that a report names
CAUSES = 5


class Command(BaseCommand):
    help = "Create, follow and control crawls."
    suppressed_base_arguments = {"--settings", "--pythonpath"}

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> Any:
        layout = {"epilog": EPILOG, "formatter_class": RawDescriptionHelpFormatter}
        parser = super().create_parser(prog_name, subcommand, **layout, **options)
        parse = parser.parse_args
        # Django makes the parser itself, so its method is wrapped and not overridden
        parser.parse_args = lambda args=None, namespace=None: parse(  # type: ignore[method-assign,assignment]
            command_first(parser, args or []), namespace
        )
        return parser

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.prog = PROGRAM  # commands inherit this name when they are added
        # in the order of the command's help
        add = Commands(parser.add_subparsers(metavar="COMMAND", title="commands"))
        self._add_new_and_lists(add)
        self._add_steering(add)
        self._add_uses(add)
        self._add_jobs(add)
        self._add_removal(add)

    def _add_new_and_lists(self, add: Commands) -> None:
        new = add("new", "create a crawl and start it", self._create, waits=True, has_crawl=False)
        new.add_argument("seeds", nargs="*", metavar="URL", help="seeds")
        add_order_arguments(new)
        listed = add("list", "list all crawls", self._print_crawls, has_crawl=False)
        listed.add_argument("--owner", default="", help="only those that this user made")
        listed.add_argument("--team", default="", help="only those of this team")

    def _add_steering(self, add: Commands) -> None:
        for name, (words, _) in crawl_verbs.COMMANDS.items():
            command = add(name, words, self._steer_crawl, waits=True)
            crawl_verbs.add_arguments(name, command)
        bulk.add_bulk_arguments(add("bulk", bulk.WORDS, self._bulk, has_crawl=False))
        add_log_arguments(add("log", "print the log of a run", self._log))
        add_seeds_arguments(add("add", "add start URLs to a crawl", self._add))
        edit = add("edit", "change the order of a crawl", self._edit)
        add_order_arguments(edit)
        edit.add_argument("--revision", type=int, help="refuse if this revision is not the latest")
        clone = add("clone", "create a draft with the same order", self._clone)
        clone.add_argument("--name", help="default: the name of the original and a number")

    def _add_uses(self, add: Commands) -> None:
        for one in (*offered_by_uses("command", "COMMANDS"), *cancelling.COMMANDS):
            do = partial(self._do_use, one.do)
            one.add_arguments(add(one.name, one.words, do, has_crawl=one.has_crawl))

    def _add_jobs(self, add: Commands) -> None:
        add_share_arguments(
            add("share", "create, list or revoke links that show its report", self._share)
        )
        jobs.add_job_arguments(add("job", jobs.WORDS, self._job, has_crawl=False))

    def _add_removal(self, add: Commands) -> None:
        delete = add("delete", "delete a crawl; it can be restored for 24 hours", self._delete)
        delete.add_argument(
            "--for-good", action="store_true", help="remove it now; needs the whole name"
        )
        add("restore", "restore a deleted crawl", self._restore)
        add(
            "deleted",
            "list deleted crawls and runs that can be restored",
            self._print_deleted,
            has_crawl=False,
        )

    def handle(self, **options: Any) -> None:
        self.stdout.style_func = without_controls
        with plain_errors():
            options["do"](options)

    def _do_use(
        self, do: Callable[[dict[str, Any], OutputWrapper], None], options: dict[str, Any]
    ) -> None:
        do(options, self.stdout)

    def _print_crawls(self, options: dict[str, Any]) -> None:
        by = {"created_by__username": options["owner"], "team": options["team"]}
        asked = {name: value for name, value in by.items() if value}
        views = crawl_views(list(CrawlJob.objects.filter(**asked)))
        if options["json"]:
            self.stdout.write(json.dumps([view.as_dict() for view in views], indent=2))
        elif views:
            # prints names as plain text, with their brackets and colons
            Console(markup=False, emoji=False).print(crawl_table(views))
            self.stdout.write(page_address("crawling:crawls"))
        else:
            example = "./crawl https://example.org/ --max-pages 100 --wait"
            self.stdout.write(f"No crawls yet. Create one: {example}")

    def _create(self, options: dict[str, Any]) -> None:
        fields = order_fields(options["seeds"], options)
        require_worker()
        try:
            crawl = create_crawl(fields)
        except BadOrder as error:
            raise refusal_error("the crawl was not made:", error) from error
        start_run(crawl)
        if not options["json"]:
            order, _ = changed_order(crawl, {})
            needs = needs_of_rendering(order, crawl.claim) if order else None
            for sentence in rendering_sentences(needs):
                self.stdout.write(sentence)
        self._report(crawl, options)

    def _steer_crawl(self, options: dict[str, Any]) -> None:
        crawl = find_crawl(options["crawl"])
        _, act = crawl_verbs.COMMANDS[options["verb"]]
        act(crawl, options)
        self._report(crawl, options)

    def _bulk(self, options: dict[str, Any]) -> None:
        self.stdout.write(bulk.act_on_many(options))

    def _log(self, options: dict[str, Any]) -> None:
        show_log(options["crawl"], options, lambda line: self.stdout.write(line, ending=""))

    def _add(self, options: dict[str, Any]) -> None:
        self.stdout.write(add_to_crawl(options["crawl"], options))

    def _edit(self, options: dict[str, Any]) -> None:
        crawl = find_crawl(options["crawl"])
        changes = given_fields(options)
        if not changes:
            raise CommandError(
                "`crawl edit` needs a change, like --delay 2, or --file with fields of an order."
            )
        try:
            edited = edit_crawl(crawl, changes, revision=options["revision"])
        except BadOrder as error:
            raise refusal_error("nothing was changed:", error) from error
        self._report(edited, options)

    def _clone(self, options: dict[str, Any]) -> None:
        self._report(
            crawl_verbs.clone_crawl_by_name(find_crawl(options["crawl"]), options), options
        )

    def _share(self, options: dict[str, Any]) -> None:
        self.stdout.write(change_share_links(find_crawl(options["crawl"]), options))

    def _job(self, options: dict[str, Any]) -> None:
        self.stdout.write(jobs.show_jobs(options))

    def _delete(self, options: dict[str, Any]) -> None:
        crawl = find_crawl(options["crawl"])
        crawl_verbs.delete_crawl_by_name(crawl, options["crawl"], for_good=options["for_good"])
        kept = "" if options["for_good"] else f" Restore it with: ./crawl restore {crawl.pk}"
        as_text = f"{crawl.name} is deleted with all runs, pages and archive files.{kept}"
        self.stdout.write(json.dumps({"deleted": crawl.name}) if options["json"] else as_text)

    def _restore(self, options: dict[str, Any]) -> None:
        name = crawl_verbs.restore_by_name(options["crawl"])
        as_json = json.dumps({"restored": name})
        self.stdout.write(as_json if options["json"] else f"{name} is restored.")

    def _print_deleted(self, options: dict[str, Any]) -> None:
        rows = deleted_rows(None)
        if options["json"]:
            self.stdout.write(json.dumps([asdict(row) for row in rows], indent=2, default=str))
            return
        for row in rows:
            until = f"{row.restorable_until:%Y-%m-%d %H:%M} UTC"
            self.stdout.write(f"{row.kind} {row.id}  {row.name}  until {until}")
        if not rows:
            self.stdout.write("Nothing that was deleted can be restored.")

    def _report(self, crawl: CrawlJob, options: dict[str, Any]) -> None:
        """Print the state of the crawl. With --wait, follow the crawl first, and exit with its
        status.
        """
        wait, as_json = options["wait"], options["json"]
        crawl.refresh_from_db()
        view, is_late = follow(crawl, show=not as_json) if wait else (crawl_view(crawl), False)
        latest = crawl.runs.first()
        causes = failure_causes(latest, most=CAUSES) if latest else []
        page = page_address("crawling:crawl", crawl.pk)
        if as_json:
            failed = [
                {"status": cause.status, "reason": cause.reason, "urls": cause.urls}
                for cause in causes
            ]
            shown = {**view.as_dict(), "failures": failed, "page": page}
            self.stdout.write(json.dumps(shown, indent=2))
        else:
            self.stdout.write(f"{crawl_lines(view, causes)}\n  {page}")
        if wait and (status := exit_status(view, is_late=is_late)):
            raise SystemExit(status)
