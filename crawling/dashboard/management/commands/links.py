"""`manage.py links`: list a run's links, its broken ones, or make its dataset again."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.links.reports import each_broken, list_links
from crawling.dashboard.management.command_errors import plain_errors
from crawling.links.catch_up import catch_up
from crawling.links.parts import MOST_BEHIND, clear, pages_behind
from crawling.models import Run

ROWS = 1_000


class Command(BaseCommand):
    help = (
        "List the links of a run, or those to URLs that failed; add those of pages that are not "
        "in the dataset yet; or read all pages of the run again from the archive. A command that "
        "was stopped continues with `catch-up`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("verb", choices=("list", "broken", "catch-up", "rebuild"))
        parser.add_argument("crawl", help="its name or number")
        parser.add_argument("--run", type=int, help="its number; the latest without it")
        parser.add_argument("--page", default="", help="with list: only links of this page")
        parser.add_argument("--target", default="", help="with list: only links to this URL")
        parser.add_argument("--json", action="store_true", help="print JSON, an object a line")

    def handle(self, *, verb: str, crawl: str, run: int | None, **options: Any) -> None:
        with plain_errors():
            one = get_run(find_crawl(crawl).pk, run)
            if verb in ("list", "broken"):
                rows = each_broken(one) if verb == "broken" else _each(one, options)
                for row in rows:
                    self.stdout.write(json.dumps(row) if options["json"] else _line(row))
                return
            if verb == "rebuild":
                clear(one.pk)
            catch_up(one.pk, note=lambda pages: self.stdout.write(f"{pages:,} pages read"))
            behind = pages_behind(one)
            more = "+" if behind == MOST_BEHIND else ""
            self.stdout.write(
                f"Run {one.number}: {behind:,}{more} pages are not in the dataset."
                if behind
                else f"Run {one.number}: all pages are in the dataset."
            )


def _each(run: Run, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    after: str | None = ""
    while after is not None:
        found, after = list_links(
            run, page=options["page"], target=options["target"], after=after, most=ROWS
        )
        yield from map(asdict, found)


def _line(row: dict[str, Any]) -> str:
    target = row.get("target") or f"{row['status']} {row['url']}"
    place = " ".join(filter(None, (row["element"], row["attribute"], row["place"])))
    return f"{row['page']}  {target}  {place}  {row['anchor']}"
