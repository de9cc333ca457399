"""`manage.py withdrawals`: withdraw stored pages of a crawl, list withdrawals, or undo one."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.management.command_errors import plain_errors
from crawling.dashboard.management.crawl_verbs import confirm
from crawling.models import CrawlJob, Withdrawal
from crawling.orders.scope.url_rules import UrlRuleKind
from crawling.uses.withdrawals.api import WithdrawalRow
from crawling.uses.withdrawals.file_removal import due_withdrawals, remove_records
from crawling.uses.withdrawals.withdrawing import (
    WithdrawalPreview,
    remove_records_now,
    undo_withdrawal,
    withdraw_pages,
    withdrawal_preview,
)
from serving.listing.columns import row_of

Options = dict[str, Any]


class Command(BaseCommand):
    help = (
        "List the withdrawals of a crawl; show which stored pages one would concern; withdraw "
        "them; undo a withdrawal; or rewrite its archive files, in this process."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("verb", choices=("list", "preview", "add", "undo", "rewrite"))
        parser.add_argument("crawl", help="its name or number")
        parser.add_argument("number", type=int, nargs="?", help="with undo and rewrite: which")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--page", help="the URL of a page")
        what.add_argument("--pattern", help="a regular expression (RE2) that URLs hold")
        what.add_argument("--host", help="a host")
        parser.add_argument("--run", type=int, help="the number of a run; all runs without it")
        parser.add_argument("--reason", default="", help="with add: why")
        parser.add_argument(
            "--at-once", action="store_true", help="with add: rewrite the files now; no undoing"
        )
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--json", action="store_true", help="print JSON, an object a line")

    def handle(self, *, verb: str, crawl: str, **options: Any) -> None:
        with plain_errors():
            job = find_crawl(crawl)
            if verb == "list":
                rows = Withdrawal.objects.filter(crawl=job).select_related("by", "run")
                for one in rows:
                    self._print(one, options)
            elif verb in ("preview", "add"):
                self._add(job, verb, options)
            elif options["number"] is None:
                raise CommandError("Name the number of the withdrawal.")
            elif verb == "undo":
                self._print(undo_withdrawal(job, options["number"], by=None), options)
            else:
                self._rewrite(job, options)

    def _add(self, crawl: CrawlJob, verb: str, options: Options) -> None:
        found = [(kind, options[kind]) for kind in UrlRuleKind if options[kind]]
        if not found:
            raise CommandError("Name what is withdrawn: --page, --pattern or --host.")
        (kind, text) = found[0]
        run = get_run(crawl.pk, options["run"]) if options["run"] else None
        would = withdrawal_preview(crawl, run, kind=kind, text=text)
        if verb == "preview":
            self.stdout.write(
                json.dumps(asdict(would)) if options["json"] else _preview_text(would)
            )
            return
        confirm(f"{would.pages:,} stored pages.", "Withdraw them?", options)
        reason, at_once = options["reason"], options["at_once"]
        made = withdraw_pages(
            crawl, run, kind=kind, text=text, reason=reason, by=None, at_once=at_once
        )
        self._print(made, options)

    def _rewrite(self, crawl: CrawlJob, options: Options) -> None:
        number = options["number"]
        if number not in due_withdrawals():
            remove_records_now(crawl, number, by=None)
        remove_records(number)
        self._print(Withdrawal.objects.get(pk=number, crawl=crawl), options)

    def _print(self, one: Withdrawal, options: Options) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(asdict(row_of(WithdrawalRow, one)), default=str))
            return
        runs = f"run {one.run.number}" if one.run else "all runs"
        self.stdout.write(
            f"{one.pk}  {one.kind} {one.text}  {runs}  {one.pages:,} pages  {one.state}  "
            f"{one.asked_at:%Y-%m-%d %H:%M}  {one.by or 'the command line'}: {one.reason}"
            f"{f'  ({one.trouble})' if one.trouble else ''}"
        )


def _preview_text(would: WithdrawalPreview) -> str:
    others = [
        f"not withdrawn: {other.pages:,} such pages of crawl {other.id}, {other.name}"
        for other in would.other_crawls
    ]
    return "\n".join([f"{would.pages:,} stored pages", *would.examples, *others])
