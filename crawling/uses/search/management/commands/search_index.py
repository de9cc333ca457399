"""`manage.py search_index`: bring this machine's search index up to date, or make it anew."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from crawling.dashboard.management.command_errors import plain_errors
from crawling.datasets.progress import unindexed_parts
from crawling.uses.search.index import add_parts, open_writer, rebuild_index


class Command(BaseCommand):
    help = (
        "Add texts of this machine that are not in the search index yet (catch-up), or make the "
        "index anew of all texts (rebuild). Texts are made by `manage.py links read-again` or by "
        "background jobs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("verb", choices=("catch-up", "rebuild"))

    def handle(self, *, verb: str, **options: Any) -> None:
        with plain_errors():
            if verb == "rebuild":
                count = rebuild_index()
            else:
                with open_writer() as index:
                    parts = list(unindexed_parts())
                    add_parts(index, parts)
                    count = len(parts)
        self.stdout.write(f"{count:,} part{'' if count == 1 else 's'} added to the search index")
