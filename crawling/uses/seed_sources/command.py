"""`crawl seed-sources`: a folder and feeds that give a crawl seeds."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import OutputWrapper

from crawling.base.errors import BadOrder
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.management.command_errors import refusal_error
from crawling.dashboard.management.command_words import Subcommand
from crawling.models import CrawlJob, SeedSourceKind
from crawling.uses.seed_sources.api import source_row
from crawling.uses.seed_sources.sources import SeedSourceFields, create_source, remove_source

Options = dict[str, Any]


WORDS = "read start URLs from a folder or a feed at intervals"


def add_seed_source_arguments(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--folder", action="store_true", help="read the files put into its folder")
    what.add_argument("--feed", metavar="URL", help="read this feed (RSS, Atom, JSON Feed)")
    what.add_argument("--remove", type=int, metavar="SOURCE", help="remove this source")
    parser.add_argument(
        "--minutes", type=int, default=60, help="from one reading to the next (default: 60)"
    )
    parser.add_argument(
        "--no-resume", action="store_true", help="leave a run that has finished as it is"
    )


def show_sources(options: Options, out: OutputWrapper) -> None:
    """List or change sources. Raises CommandError or CrawlError."""
    try:
        out.write(change_seed_sources(find_crawl(options["crawl"]), options))
    except BadOrder as error:
        raise refusal_error("no source was made:", error) from error


def change_seed_sources(crawl: CrawlJob, options: Options) -> str:
    """Apply the options and return the text to print; without options, the list. Raises
    CrawlError.
    """
    if options["remove"] is not None:
        remove_source(crawl, options["remove"], by=None)
        return _as_text(
            {"removed": options["remove"]}, "It is removed; its start URLs stay.", options
        )
    if options["folder"] or options["feed"]:
        kind = SeedSourceKind.FOLDER if options["folder"] else SeedSourceKind.FEED
        fields = SeedSourceFields(
            kind, options["feed"] or "", options["minutes"], not options["no_resume"]
        )
        return _printed_sources([source_row(create_source(crawl, fields, by=None))], options)
    found = crawl.seed_sources.select_related("created_by", "crawl")
    return _printed_sources([source_row(one) for one in found], options)


def _printed_sources(rows: list[dict[str, Any]], options: Options) -> str:
    lines = [
        f"{row['id']}  {row['kind']} {row['url'] or row['folder']}  every {row['minutes']:,} min"
        f"  {row['added']:,} start URLs added" + (f"\n  {row['note']}" if row["note"] else "")
        for row in rows
    ]
    return _as_text(rows, "\n".join(lines) or "It has no sources of start URLs.", options)


def _as_text(as_json: Any, text: str, options: Options) -> str:
    return json.dumps(as_json, indent=2, default=str) if options["json"] else text


COMMANDS = (Subcommand("seed-sources", WORDS, add_seed_source_arguments, show_sources),)
