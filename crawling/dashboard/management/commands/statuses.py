"""`manage.py statuses`: what the crawler does with a URL for each status of its fetch."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.table import Table

from crawling.orders.scope.status_policy import as_markdown, status_rows


class Command(BaseCommand):
    help = (
        "Print what is done about each status, HTTP's and our own, beside the rules of the book "
        "that this crawler is measured by."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--markdown", action="store_true", help="as the page of the documentation"
        )

    def handle(self, *, markdown: bool, **options: Any) -> None:
        if markdown:
            self.stdout.write(as_markdown(), ending="")
            return
        table = Table("status", "means", "the book", "crawlsite", "why another")
        for row in status_rows():
            table.add_row(
                str(int(row.status)),
                row.meaning,
                row.book,
                f"* {row.ours}" if row.differs else row.ours,
                row.why,
            )
        Console(markup=False, emoji=False).print(table)
        self.stdout.write("* another rule than the book's")
