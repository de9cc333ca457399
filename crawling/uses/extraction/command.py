"""`crawl extract`: preview extraction rules on stored pages, or extract again from a run. `crawl
extractor`: rules under a name. `crawl tables`: the tables of a stored page, as a list or as a CSV
file.
"""

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
from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.run_options import add_run_option, run_of
from crawling.jobs.running import run_in_this_process
from crawling.models import CrawlJob, Page
from crawling.uses.extraction.jobs import open_extraction, rules_by_extractor
from crawling.web.addresses import BadUrl, fingerprint, read_address, signed_64_bits
from serving.listing.command import print_rows, write_rows

WORDS = "extract again from the stored pages of a run, or try rules on them"


if TYPE_CHECKING:
    from crawling.uses.extraction.extractors import ExtractorRow
    from crawling.uses.extraction.page_tables import StoredTable

WORDS_OF_EXTRACTORS = "list extractors: rules under a name; or show, save or delete one"
WORDS_OF_TABLES = "list the tables of a stored page, or write one as CSV"


def add_table_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("page", metavar="PAGE", help="its URL, or its number")
    add_run_option(parser)
    parser.add_argument("--table", type=int, metavar="TABLE", help="only this one, by its number")
    parser.add_argument("--export", type=Path, metavar="FILE", help="write it to a CSV file")


def show_tables(options: dict[str, Any], out: OutputWrapper) -> None:
    """Print the tables of a page. Raises CommandError or CrawlError."""
    # these import readers of documents, which other commands do not need
    from crawling.uses.extraction.page_tables import tables_of
    from crawling.uses.extraction.pages import table_file

    if options["export"] and options["table"] is None:
        raise CommandError("--export: say which table with --table")
    page = _page_named(find_crawl(options["crawl"]), options)
    found = tables_of(page)
    if options["table"] is None:
        print_rows(found.tables, options, out, _table_line)
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


def _table_line(table: StoredTable) -> str:
    size = f"{table.columns:,} columns, {len(table.rows):,} rows"
    return f"{table.number:>4}  {size}  {table.caption}".rstrip()


def _page_named(crawl: CrawlJob, options: dict[str, Any]) -> Page:
    """The page with this id, or with this address in a run. Raises CommandError, NotFound,
    Withdrawn, UnknownCrawl or UnknownRun.
    """
    number = whole_number(options["page"])
    if number is None:
        try:
            url = read_address(options["page"]).url
        except BadUrl as error:
            raise CommandError(f"PAGE: {error}") from error
        pages = Page.objects.filter(run=get_run(crawl.pk, options["run"]))
        known = pages.filter(url__fingerprint=signed_64_bits(fingerprint(url)), url__url=url)
        number = known.values_list("pk", flat=True).first()
        if number is None:
            raise NotFound(f"The run has no stored page {url}.")
    return get_page(crawl.pk, number)


def add_extraction_arguments(parser: ArgumentParser) -> None:
    add_run_option(parser)
    parser.add_argument(
        "rules",
        nargs="*",
        metavar="NAME=SELECTOR",
        help="a CSS selector; `::attr(NAME)` behind it extracts an attribute; default: the rules "
        "of the crawl",
    )
    parser.add_argument(
        "--extractor",
        default="",
        metavar="NAME",
        help="the rules of an extractor, of its newest revision; NAME@3: of its revision 3",
    )
    parser.add_argument(
        "--preview", action="store_true", help="only print what the rules match on the latest pages"
    )


def extract_again_by_command(options: dict[str, Any], out: OutputWrapper) -> None:
    """Raises CrawlError."""
    # these import readers of documents, which other commands do not need
    from crawling.uses.extraction.rule_previews import checked_rules, preview_rules, read_rules

    run, given, extractor = run_of(options), options["rules"], options["extractor"]
    if given and extractor:
        raise CommandError("--extractor: give rules or an extractor, not both")
    if extractor:
        extractor, rules = rules_by_extractor(run, extractor)
    elif given:
        rules = read_rules("\n".join(given))
    else:
        extractor, rules = run.crawl.extractor, checked_rules(run.crawl.extract)
    if options["preview"]:
        for page in preview_rules(run, rules).pages:
            if options["json"]:
                out.write(json.dumps(asdict(page)))
                continue
            for rule in page.rules:
                out.write(f"{page.url}  {rule.name} {rule.count}  {', '.join(rule.values)}")
        return
    progress = run_in_this_process(
        open_extraction(run, rules, by=None, extractor=extractor)
    ).progress
    facts = {name: progress[name] for name in ("rows", "pages", "unreadable")}
    line = f"{facts['rows']:,} rows of {facts['pages']:,} pages"
    out.write(json.dumps(facts) if options["json"] else line)


def add_extractor_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="of an extractor; without it, all are listed")
    parser.add_argument(
        "rules",
        nargs="*",
        metavar="NAME=SELECTOR",
        help="save these rules under the name; of one that is there, as its next revision",
    )
    parser.add_argument(
        "--use-newest",
        action="store_true",
        help="let the crawls that use it have its newest revision",
    )
    parser.add_argument("--delete", action="store_true", help="delete it; crawls keep its rules")


def save_named_rules(options: dict[str, Any], out: OutputWrapper) -> None:
    """Raises CrawlError."""
    # these import readers of documents, which other commands do not need
    from crawling.uses.extraction import extractors
    from crawling.uses.extraction.rule_previews import read_rules

    name = options["name"]
    if name is None:
        print_rows(
            extractors.extractor_rows(list(extractors.extractors())), options, out, _extractor_line
        )
        return
    if options["rules"]:
        rules = read_rules("\n".join(options["rules"]))
        there = extractors.extractors().filter(name=name).first()
        one = (
            extractors.edit_extractor(there, rules, by=None)
            if there
            else extractors.save_extractor(name, rules, by=None)
        )
    else:
        one = extractors.extractor_named(name)
    if options["delete"]:
        extractors.remove_extractor(one, by=None)
        out.write(f"{one.name} is deleted")
        return
    if options["use_newest"]:
        done, refused = extractors.give_newest(one, by=None)
        for sentence in refused:
            out.write(sentence)
        out.write(f"Revision {one.revision} was given to: {done:,}")
    print_rows(extractors.extractor_rows([one]), options, out, _extractor_rules)


def _extractor_line(row: ExtractorRow) -> str:
    return f"{row.name}  revision {row.revision}, crawls: {row.crawls:,}  {', '.join(row.rules)}"


def _extractor_rules(row: ExtractorRow) -> str:
    lines = (f"{name} = {rule}" for name, rule in sorted(row.rules.items()))
    return "\n".join([f"{row.name}  revision {row.revision}, crawls: {row.crawls:,}", *lines])


COMMANDS = (
    Subcommand("extractor", WORDS_OF_EXTRACTORS, add_extractor_arguments, save_named_rules, False),
    Subcommand("extract", WORDS, add_extraction_arguments, extract_again_by_command),
    Subcommand("tables", WORDS_OF_TABLES, add_table_arguments, show_tables),
)
