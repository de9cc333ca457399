"""`crawl graph`: the pages, hosts or components of a run's link graph, as lines or as a file."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.run_options import add_tables_options, run_tables
from crawling.uses.link_graph.exports import ENDINGS, SHOWN, graph_file
from crawling.uses.link_graph.lists import GRAPH, LISTS, PAGES, GraphComponent
from serving.listing.command import add_list_options, show_list

WORDS = "rank the pages and hosts of a run by their links, and list its connected components"


def add_graph_arguments(parser: ArgumentParser) -> None:
    add_tables_options(parser, "the graph")
    parser.add_argument(
        "--show",
        choices=("pages", "hosts", "weak", "strong"),
        default="pages",
        help="pages, hosts, or weakly or strongly connected components (default: pages)",
    )
    add_list_options(parser, PAGES, endings=ENDINGS)


def show_graph(options: dict[str, Any], out: OutputWrapper) -> None:
    """Print or write a list. Raises CommandError or CrawlError."""
    graph, shown = run_tables(options, GRAPH), options["show"]
    if options["export"] and shown not in SHOWN:
        raise CommandError("--export: only pages and hosts are exported; give --show one of them")
    show_list(
        LISTS["components" if shown in ("weak", "strong") else shown],
        graph.ask,
        {**options, "kind": shown},
        out,
        line=_row_as_line,
        file=partial(graph_file, "graph", graph, shown),
        endings=ENDINGS,
    )


def _row_as_line(row: Any) -> str:
    if isinstance(row, GraphComponent):
        return f"{row.number:>9,}  {row.pages:>9,} pages  {row.url}"
    ranks = "  ".join(
        f"{name} {getattr(row, name):.2f}" for name in ("pagerank", "hub", "authority")
    )
    name = getattr(row, "url", row.host)
    return f"{ranks}  {row.in_links:,} to it, {row.out_links:,} from it  {name}"


COMMANDS = (Subcommand("graph", WORDS, add_graph_arguments, show_graph),)
