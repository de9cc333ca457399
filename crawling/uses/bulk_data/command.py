"""`crawl download`: list the data of a run, or write all data of a kind to a file."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.run_options import add_run_option, run_of
from crawling.jobs.running import run_in_this_process
from crawling.models import Run
from crawling.uses.bulk_data.bulk_table import BulkTable
from crawling.uses.bulk_data.files import bulk_file
from crawling.uses.bulk_data.offers import BulkData, offer_of, offers_of, open_file
from crawling.uses.bulk_data.tables import BY_NAME
from serving.downloads import ENDINGS
from serving.listing.command import write_rows

WORDS = "write all pages, texts, tables, fields, links or structured data of a run to a file"


def add_download_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "data", nargs="?", choices=list(BY_NAME), help="what; without it, what there is is listed"
    )
    add_run_option(parser)
    parser.add_argument(
        "--export",
        type=Path,
        metavar="FILE",
        help=f"the file; its ending says how: {', '.join(ENDINGS)}, or zip for tables",
    )
    parser.add_argument(
        "--mark", action="store_true", help="begin CSV with a byte order mark, as Excel wants it"
    )


def download_data(options: dict[str, Any], out: OutputWrapper) -> None:
    """List or write data. Raises CommandError or CrawlError."""
    run, name, place = run_of(options), options["data"], options["export"]
    if name is None or place is None:
        if place:
            raise CommandError(f"--export: say which data: {', '.join(BY_NAME)}")
        _print_offers([offer_of(run, BY_NAME[name])] if name else offers_of(run), options, out)
        return
    table, ending = BY_NAME[name], place.suffix.removeprefix(".")
    endings = (*ENDINGS, *table.other_endings)
    if ending not in endings:
        raise CommandError(f"--export: the file must end with {', '.join(endings)}: {place}")
    offer = offer_of(run, table)
    if offer.is_outdated or not offer.is_ready(ending):
        run_in_this_process(open_file(run, table))
    pieces = bulk_file(run, table, ending, with_mark=options["mark"]).pieces
    out.write(write_rows(place, pieces))
    _warn_of_gaps(run, table, out)


def _warn_of_gaps(run: Run, table: BulkTable, out: OutputWrapper) -> None:
    offer = offer_of(run, table)
    for name, count in offer.failed.items():
        out.write(f"{name}: {count:,} values could not be converted")
    if offer.behind:
        out.write(f"not complete: up to {offer.behind:,} pages are not in it yet")


def _print_offers(offers: list[BulkData], options: dict[str, Any], out: OutputWrapper) -> None:
    for offer in offers:
        facts = {
            "name": offer.table.name,
            "rows": offer.rows,
            "bytes": offer.bytes,
            "complete": offer.is_complete,
            "behind": offer.behind,
        }
        if options["json"]:
            out.write(json.dumps(facts))
        else:
            rows = "?" if offer.rows is None else f"{offer.rows:,}"
            size = "" if offer.bytes is None else f", about {offer.bytes:,} bytes of CSV"
            rest = "" if offer.is_complete else "; not complete yet"
            out.write(f"{offer.table.name:<16} {rows:>12} rows{size}{rest}")


COMMANDS = (Subcommand("download", WORDS, add_download_arguments, download_data),)
