"""`crawl add`: seeds for a crawl that is there, even while it runs."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from crawling.crawls.added_seeds import add_to_seeds
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.errors import BadSeeds


def add_seeds_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("seeds", nargs="+", metavar="URL", help="seeds to add")
    parser.add_argument("--widen", action="store_true", help="let seeds outside the scope widen it")


def add_to_crawl(crawl: str, options: dict[str, Any]) -> str:
    """Do it and return what to print.

    Raises CommandError with every mistake on a line of its own.
    """
    try:
        added = add_to_seeds(find_crawl(crawl), options["seeds"], widen=options["widen"])
    except BadSeeds as error:
        outside = [f"{url} is outside the scope; --widen takes it in" for url in error.outside]
        raise CommandError(
            "\n  ".join(["nothing was added:", *error.mistakes, *outside])
        ) from error
    if options["json"]:
        return json.dumps(asdict(added), indent=2)
    queued = "they wait for the next run" if added.queued is None else f"{added.queued:,} queued"
    return "\n  ".join(
        [
            f"{len(added.added):,} added; {queued}.",
            *(f"{url}: {what}" for url, what in added.known.items()),
        ]
    )
