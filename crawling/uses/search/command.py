"""`crawl search`: stored pages by their text, on the terminal."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import OutputWrapper

from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.lags import tell_lag
from crawling.dashboard.management.command_words import Subcommand
from crawling.uses.search.jobs import lag_of_search
from crawling.uses.search.search import HitRow, SearchFilter, search_texts
from serving.listing.columns import row_of

WORDS = "search the texts of stored pages"


def add_search_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        metavar="QUERY",
        help='words, which are all to be found; "a phrase"; -word (behind --): pages without it; '
        "one OR another",
    )
    parser.add_argument("--crawl", help="only pages of this crawl: its name or number")
    parser.add_argument("--run", type=int, help="of this run of the crawl; default: the latest")
    parser.add_argument("--all-runs", action="store_true", help="of all runs of each crawl")
    parser.add_argument("--host", default="", help="only pages of this host")
    parser.add_argument("--type", default="", help="only pages of this type, like text/html")
    parser.add_argument("--month", default="", help="only pages fetched then, like 2026-11")
    parser.add_argument("--language", default="", help="only pages in this language, like en")
    parser.add_argument("--after", type=int, default=0, metavar="N", help="skip the best N pages")


def print_results(options: dict[str, Any], out: OutputWrapper) -> None:
    """Print the found pages. Raises BadQuery, UnknownCrawl, UnknownRun or IndexBroken."""
    for line in search_lines(options):
        out.write(line)


def search_lines(options: dict[str, Any]) -> Iterator[str]:
    """The lines to be printed. Raises BadQuery, UnknownCrawl, UnknownRun or IndexBroken."""
    crawl = find_crawl(options["crawl"]).pk if options["crawl"] else None
    names = ("run", "all_runs", "host", "type", "month", "language")
    wanted = SearchFilter(crawl, **{name: options[name] for name in names})
    result = search_texts(" ".join(options["words"]), wanted, before=options["after"])
    if options["json"]:
        for hit in result.hits:
            yield json.dumps(asdict(row_of(HitRow, hit)), default=str)
        return
    for hit in result.hits:
        snippet = "".join(f"*{one.text}*" if one.is_marked else one.text for one in hit.snippet)
        yield f"{hit.page.title or '(no title)'}\n  {hit.page.url.url}\n  {snippet}"
    tell_lag(lag_of_search(result.runs))
    yield f"{result.count:,} page{'' if result.count == 1 else 's'} found"


COMMANDS = (Subcommand("search", WORDS, add_search_arguments, print_results, has_crawl=False),)
