"""`crawl extract`: try extraction rules on stored pages, or extract again from a run."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import OutputWrapper

from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.run_options import add_run_option, run_of
from crawling.jobs.running import work_here
from crawling.uses.extraction import tables_command
from crawling.uses.extraction.jobs import open_extraction

WORDS = "extract again from the stored pages of a run, or try rules on them"


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
        "--preview", action="store_true", help="only print what the rules match on the latest pages"
    )


def extract(options: dict[str, Any], out: OutputWrapper) -> None:
    """Raises CrawlError."""
    # what these import reads documents, which other commands do not need
    from crawling.uses.extraction.rule_previews import checked_rules, preview, read_rules

    run = run_of(options)
    given = options["rules"]
    rules = read_rules("\n".join(given)) if given else checked_rules(run.crawl.extract)
    if options["preview"]:
        for page in preview(run, rules).pages:
            if options["json"]:
                out.write(json.dumps(asdict(page)))
                continue
            for rule in page.rules:
                out.write(f"{page.url}  {rule.name} {rule.count}  {', '.join(rule.values)}")
        return
    progress = work_here(open_extraction(run, rules, by=None)).progress
    facts = {name: progress[name] for name in ("rows", "pages", "unreadable")}
    line = f"{facts['rows']:,} rows of {facts['pages']:,} pages"
    out.write(json.dumps(facts) if options["json"] else line)


COMMANDS = (
    Subcommand("extract", WORDS, add_extraction_arguments, extract),
    Subcommand(
        "tables",
        tables_command.WORDS,
        tables_command.add_table_arguments,
        tables_command.show_tables,
    ),
)
