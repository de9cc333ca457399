"""`crawl tables`: the tables of a stored page, as a list or as a CSV file."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, OutputWrapper

from allocation.wording import whole_number
from crawling.base.errors import NotFound
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_page, get_run
from crawling.dashboard.management.run_options import add_run_option
from crawling.models import CrawlJob, Page
from crawling.web.addresses import BadUrl, fingerprint, read_address, signed
from serving.listing.command import print_rows, write_rows

if TYPE_CHECKING:
    from crawling.uses.extraction.page_tables import StoredTable

WORDS = "list the tables of a stored page, or write one as CSV"


def add_table_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("page", metavar="PAGE", help="its URL, or its number")
    add_run_option(parser)
    parser.add_argument("--table", type=int, metavar="TABLE", help="only this one, by its number")
    parser.add_argument("--export", type=Path, metavar="FILE", help="write it to a CSV file")


def show_tables(options: dict[str, Any], out: OutputWrapper) -> None:
    """Raises CommandError, CrawlError."""
    # what these import reads documents, which other commands do not need
    from crawling.uses.extraction.page_tables import tables_of
    from crawling.uses.extraction.tables_pages import table_file

    if options["export"] and options["table"] is None:
        raise CommandError("--export: say which table with --table")
    page = _page(find_crawl(options["crawl"]), options)
    found = tables_of(page)
    if options["table"] is None:
        print_rows(found.tables, options, out, _line)
        return
    table = found.table(options["table"])
    if table is None:
        raise NotFound(f"{page.url.url} has no table {options['table']}.")
    pieces = table_file(page, table).pieces
    if options["export"]:
        out.write(write_rows(options["export"], pieces))
    elif options["json"]:
        out.write(json.dumps(asdict(table)))
    else:
        for piece in pieces:
            out.write(str(piece), ending="")


def _line(table: StoredTable) -> str:
    size = f"{table.columns:,} columns, {len(table.rows):,} rows"
    return f"{table.number:>4}  {size}  {table.caption}".rstrip()


def _page(crawl: CrawlJob, options: dict[str, Any]) -> Page:
    """The page of that number, or of that address in a run. Raises CommandError, NotFound,
    Withdrawn.
    """
    number = whole_number(options["page"])
    if number is None:
        try:
            url = read_address(options["page"]).url
        except BadUrl as error:
            raise CommandError(f"PAGE: {error}") from error
        pages = Page.objects.filter(run=get_run(crawl.pk, options["run"]))
        known = pages.filter(url__fingerprint=signed(fingerprint(url)), url__url=url)
        number = known.values_list("pk", flat=True).first()
        if number is None:
            raise NotFound(f"The run has no stored page {url}.")
    return get_page(crawl.pk, number)
