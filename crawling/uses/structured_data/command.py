"""`crawl structured-data`: the data of a run's pages for programs, as lines or as a file."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import OutputWrapper

from crawling.dashboard.base.lags import tell_lag
from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.run_options import add_run_option, run_of
from crawling.datasets.lag import Derived, lag_of
from crawling.uses.structured_data.structured_data import (
    DataCount,
    DataFilter,
    StructuredRow,
    count_kinds,
    list_structured,
    structured_file,
)
from crawling.web.structured_rows import DataKind
from serving.listing.command import add_row_options, export_rows, print_rows

WORDS = "list what the pages of a run say for programs: JSON-LD, metadata, images, contacts"


def add_structured_arguments(parser: ArgumentParser) -> None:
    add_run_option(parser)
    parser.add_argument(
        "--kind",
        choices=[str(kind) for kind in DataKind],
        default="",
        help="only rows of this kind; without it the kinds are counted",
    )
    parser.add_argument("--type", default="", help="only rows of this type")
    parser.add_argument("--name", default="", help="only rows of this name, as og:title")
    parser.add_argument("--page", default="", help="only rows of this page, by its URL")
    add_row_options(parser, usual=50)


def show_structured(options: dict[str, Any], out: OutputWrapper) -> None:
    """Print or write rows. Raises CommandError or CrawlError."""
    run = run_of(options)
    tell_lag(lag_of(run, Derived.STRUCTURED_DATA))
    wanted = DataFilter(options["kind"], options["type"], options["name"], options["page"])
    if options["export"]:
        stem = options["export"].stem
        out.write(export_rows(options, partial(structured_file, run, stem, wanted=wanted)))
    elif wanted == DataFilter():
        print_rows(count_kinds(run), options, out, _count_line)
    else:
        print_rows(list_structured(run, wanted, most=options["limit"])[0], options, out, _row_line)


def _count_line(count: DataCount) -> str:
    return f"{count.rows:>9,}  on {count.pages:,} pages  {count.name}"


def _row_line(row: StructuredRow) -> str:
    size = f"{row.width or '?'}×{row.height or '?'}" if row.width or row.height else ""
    return "  ".join(filter(None, (row.page, row.kind, row.type, row.name, size, row.value)))


COMMANDS = (Subcommand("structured-data", WORDS, add_structured_arguments, show_structured),)
