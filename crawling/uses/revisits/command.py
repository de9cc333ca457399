"""`crawl freshness`: the freshness of a crawl's pages, and the times of their next visits."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import OutputWrapper
from pydantic import TypeAdapter

from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.management.command_words import Subcommand
from crawling.uses.revisits.api import FreshnessOut
from crawling.uses.revisits.expected_freshness import (
    CrawlFreshness,
    RevisitRow,
    RevisitSort,
    freshness_of,
    list_revisits,
)
from serving.listing.command import add_row_options

WORDS = "show how fresh the pages of a crawl are, and when they are visited again"
ROWS = TypeAdapter(list[RevisitRow])


def add_freshness_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--sort",
        choices=RevisitSort.values,
        default=RevisitSort.NEXT.value,
        help="next visit or highest change rate first (default: next)",
    )
    parser.add_argument("--text", default="", help="only pages with this in the address")
    parser.add_argument("--host", default="", help="only pages of this host")
    add_row_options(parser, "pages", endings=())


def show_freshness(options: dict[str, Any], out: OutputWrapper) -> None:
    """Raises CrawlError."""
    crawl = find_crawl(options["crawl"])
    told = freshness_of(crawl)
    rows, _ = list_revisits(
        crawl,
        RevisitSort(options["sort"]),
        text=options["text"],
        host=options["host"],
        most=options["limit"],
    )
    if options["json"]:
        pages = ROWS.dump_python(rows, mode="json")
        as_json = {**FreshnessOut.from_orm(told).model_dump(mode="json"), "pages": pages}
        out.write(json.dumps(as_json, indent=2))
    else:
        out.write("\n".join([*_summary_lines(told), *map(_page_line, rows)]))


def _summary_lines(told: CrawlFreshness) -> list[str]:
    if told.plan is None:
        return ["No revisits are planned."]
    lines = [
        f"{told.plan.pages:,} pages, {told.plan.visits_a_day:,} revisits a day, policy "
        f"{told.plan.policy}, planned after run {told.plan.run_number}"
    ]
    expected = {"at the end of the run": told.at_end, **told.policies}
    lines += [
        f"{name:22}{one.percent:6.1f} % fresh, mean age {one.age_days:.2f} days"
        for name, one in expected.items()
        if one
    ]
    return [*lines, ""]


def _page_line(row: RevisitRow) -> str:
    return (
        f"{row.next_at:%Y-%m-%d %H:%M}  {row.rate:9.3g} changes a day  every {row.wait_days:.3g} "
        f"days  {row.url}"
    )


COMMANDS = (Subcommand("freshness", WORDS, add_freshness_arguments, show_freshness),)
