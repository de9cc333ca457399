"""`crawl copies`: clusters of copies in a run or in two, and pages with passages of a text."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.run_options import add_run_option, run_of
from crawling.models import Run
from crawling.uses.copies.results import Cluster, PageInCluster, PageWithText
from serving.listing.command import add_row_options, print_rows

WORDS = "list clusters of pages that are copies, or pages that have passages of a text"


def add_copies_arguments(parser: ArgumentParser) -> None:
    add_run_option(parser)
    parser.add_argument(
        "--against",
        metavar="CRAWL[:RUN]",
        help="only clusters that also have pages of this run; default: the latest of the crawl",
    )
    parser.add_argument(
        "--exact", action="store_true", help="only pages with the same content, not nearly"
    )
    parser.add_argument(
        "--text", type=Path, metavar="FILE", help="list the pages with passages of this text"
    )
    add_row_options(parser, "clusters", endings=())


def show_copies(options: dict[str, Any], out: OutputWrapper) -> None:
    """Print clusters, or pages with passages of a text. Raises CommandError or CrawlError."""
    run = run_of(options)
    if options["text"]:
        _show_text(run, options, out)
        return
    # these import SciPy and the search index, which other commands do not need
    from crawling.uses.copies.clusters import find_clusters

    runs = [run.pk, *([_run_named(options["against"]).pk] if options["against"] else [])]
    found = find_clusters(runs, near=not options["exact"], skip=0, most=options["limit"])
    if not options["json"]:
        out.write(f"{found.pages:,} pages in {found.count:,} clusters")
    print_rows(found.clusters, options, out, _printed_cluster)


def _run_named(words: str) -> Run:
    """The run that CRAWL or CRAWL:RUN names; the name of the crawl may contain a colon, too."""
    name, _, number = words.rpartition(":")
    if name and number.isascii() and number.isdigit():
        return get_run(find_crawl(name).pk, int(number))
    return get_run(find_crawl(words).pk, None)


def _printed_cluster(cluster: Cluster) -> str:
    first, *others = (_page_line(page) for page in cluster.pages)
    return "\n".join([f"{cluster.size:>7,} pages  {first}", *(f"{'':15}{one}" for one in others)])


def _page_line(page: PageInCluster) -> str:
    return f"{page.url}  ({page.crawl_name}, run {page.run})"


def _show_text(run: Run, options: dict[str, Any], out: OutputWrapper) -> None:
    from crawling.uses.copies.supplied import find_pages

    try:
        text = options["text"].read_text(errors="replace")
    except OSError as error:
        raise CommandError(f"--text: {error.strerror}: {options['text']}") from error
    print_rows(find_pages(text, run)[: options["limit"]], options, out, _text_line)


def _text_line(page: PageWithText) -> str:
    return f"{page.shared_words:>7,} words  {100 * page.similarity:.0f} %  {page.url}"


COMMANDS = (Subcommand("copies", WORDS, add_copies_arguments, show_copies),)
