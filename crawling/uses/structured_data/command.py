"""`crawl structured-data`: what the pages of a run say for programs, as lines or as a file."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.row_files import write_rows
from crawling.models import Run
from crawling.uses.structured_data.structured_data import (
    DataFilter,
    StructuredRow,
    count_kinds,
    list_structured,
    structured_file,
)
from crawling.web.structured_rows import DataKind

WORDS = "list what the pages of a run say for programs: JSON-LD, metadata, images, contacts"
ENDINGS = ("csv", "jsonl", "parquet")


def add_structured_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--run", type=int, help="a run by its number; default: the latest")
    parser.add_argument(
        "--kind",
        choices=[str(kind) for kind in DataKind],
        default="",
        help="only rows of this kind; without it the kinds are counted",
    )
    parser.add_argument("--type", default="", help="only rows of this type")
    parser.add_argument("--name", default="", help="only rows of this name, as og:title")
    parser.add_argument("--page", default="", help="only rows of this page, by its URL")
    parser.add_argument(
        "--limit", type=int, default=50, metavar="ROWS", help="rows to print (default: 50)"
    )
    parser.add_argument(
        "--export",
        type=Path,
        metavar="FILE",
        help=f"write all rows to a file; its ending says how: {', '.join(ENDINGS)}",
    )


def show_structured(options: dict[str, Any], out: OutputWrapper) -> None:
    """Raises CommandError, CrawlError."""
    if options["limit"] < 1:
        raise CommandError("--limit must be 1 or more")
    run = get_run(find_crawl(options["crawl"]).pk, options["run"])
    wanted = DataFilter(options["kind"], options["type"], options["name"], options["page"])
    if options["export"]:
        out.write(_export(run, options["export"], wanted))
    elif wanted == DataFilter():
        for count in count_kinds(run):
            line = f"{count.rows:>9,}  on {count.pages:,} pages  {count.name}"
            out.write(json.dumps(asdict(count)) if options["json"] else line)
    else:
        for row in list_structured(run, wanted, most=options["limit"])[0]:
            out.write(json.dumps(asdict(row)) if options["json"] else _line(row))


def _line(row: StructuredRow) -> str:
    size = f"{row.width or '?'}×{row.height or '?'}" if row.width or row.height else ""
    return "  ".join(filter(None, (row.page, row.kind, row.type, row.name, size, row.value)))


def _export(run: Run, path: Path, wanted: DataFilter) -> str:
    kind = path.suffix.removeprefix(".")
    if kind not in ENDINGS:
        raise CommandError(f"--export: the file must end with {', '.join(ENDINGS)}: {path}")
    pieces = structured_file(run, path.stem, kind, wanted).pieces
    return write_rows(path, pieces)


COMMANDS = (Subcommand("structured-data", WORDS, add_structured_arguments, show_structured),)
