"""`crawl graph`: the pages, hosts or components of a run's link graph, as lines or as a file."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from crawling.base.errors import CrawlError
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.row_files import write_rows
from crawling.jobs.enqueue import open_job
from crawling.jobs.running import work_here
from crawling.models import Run
from crawling.uses.link_graph.exports import SHOWN, graph_file
from crawling.uses.link_graph.graph_state import wanted_graph
from crawling.uses.link_graph.graphs import LinkGraph
from crawling.uses.link_graph.jobs import LINK_GRAPH
from crawling.uses.link_graph.lists import LISTS, PAGES
from crawling.uses.link_graph.tables import ask

WORDS = "rank the pages and hosts of a run by their links, and list its connected components"
ENDINGS = ("csv", "jsonl", "parquet", "graphml")


def add_graph_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--run", type=int, help="a run by its number; default: the latest")
    parser.add_argument(
        "--compute", action="store_true", help="compute the graph now, in this process"
    )
    parser.add_argument(
        "--show",
        choices=("pages", "hosts", "weak", "strong"),
        default="pages",
        help="pages, hosts, or weakly or strongly connected components (default: pages)",
    )
    parser.add_argument(
        "--sort",
        choices=PAGES.sorts,
        default=PAGES.first_sort,
        help="the column of pages and hosts, the largest first (default: pagerank)",
    )
    parser.add_argument("--text", default="", help="only those with this in the address or name")
    parser.add_argument(
        "--limit", type=int, default=20, metavar="ROWS", help="rows to print (default: 20)"
    )
    parser.add_argument(
        "--export",
        type=Path,
        metavar="FILE",
        help=f"write all pages or hosts to a file; its ending says how: {', '.join(ENDINGS)}",
    )


def show_graph(options: dict[str, Any], out: OutputWrapper) -> None:
    """Raises CommandError, CrawlError."""
    if options["limit"] < 1:
        raise CommandError("--limit must be 1 or more")
    run = get_run(find_crawl(options["crawl"]).pk, options["run"])
    if options["compute"]:
        _compute(run)
    graph = wanted_graph(run)
    if options["export"]:
        out.write(_export(graph, options))
        return
    for row in _rows(graph, options):
        out.write(json.dumps(row) if options["json"] else _line(row))


def _compute(run: Run) -> None:
    job = open_job(LINK_GRAPH, run, by=None)
    try:
        work_here(job)
    except CrawlError as error:
        job.refresh_from_db()
        if not job.trouble:  # a background job is at it
            raise
        raise CommandError(f"The link graph could not be computed. {job.trouble}") from error


def _rows(graph: LinkGraph, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    shown, wanted = options["show"], {"q": options["text"]}
    if shown in ("weak", "strong"):
        shown, wanted = "components", {"kind": options["show"]}
    rows = LISTS[shown]
    sort = options["sort"] if rows.first_sort else ""
    found, _ = rows.page(partial(ask, graph), wanted, sort=sort, most=options["limit"])
    yield from map(asdict, found)


def _line(row: dict[str, Any]) -> str:
    if "number" in row:
        return f"{row['number']:>9,}  {row['pages']:>9,} pages  {row['url']}"
    ranks = "  ".join(f"{name} {row[name]:.2f}" for name in ("pagerank", "hub", "authority"))
    name = row.get("url", row["host"])
    return f"{ranks}  {row['in_links']:,} to it, {row['out_links']:,} from it  {name}"


def _export(graph: LinkGraph, options: dict[str, Any]) -> str:
    path, shown = options["export"], options["show"]
    kind = path.suffix.removeprefix(".")
    if kind not in ENDINGS:
        raise CommandError(f"--export: the file must end with {', '.join(ENDINGS)}: {path}")
    if shown not in SHOWN:
        raise CommandError("--export: only pages and hosts are exported; give --show one of them")
    pieces = graph_file("graph", graph, shown, kind, {"q": options["text"]}).pieces
    return write_rows(path, pieces)


COMMANDS = (Subcommand("graph", WORDS, add_graph_arguments, show_graph),)
