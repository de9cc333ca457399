"""`manage.py backup DIR`: back up the whole installation while it works."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.template.defaultfilters import pluralize

from crawling.dashboard.management.command_errors import plain_errors
from crawlsite.backup import back_up


class Command(BaseCommand):
    help = (
        "Write every row and archive file to a new directory, as of one moment; crawls continue "
        "meanwhile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "directory",
            type=Path,
            help="a new one, best on another disk than the archive",
        )

    def handle(self, *, directory: Path, **options: Any) -> None:
        with plain_errors():
            done = back_up(directory)
        rows, files = sum(table["rows"] for table in done.tables.values()), len(done.files)
        told = (
            f"{rows:,} rows of {len(done.tables)} tables and {files} archive file{pluralize(files)}"
        )
        self.stdout.write(f"{directory}: {told}, as of {done.taken_at}.")
        if in_bucket := list(done.elsewhere.values()).count(settings.ARCHIVE_URL):
            self.stdout.write(
                f"Not in it: {in_bucket:,} archive file{pluralize(in_bucket)} in "
                f"{settings.ARCHIVE_URL}; restore with this ARCHIVE_URL."
            )
        for name, place in done.elsewhere.items():
            if place != settings.ARCHIVE_URL:
                self.stdout.write(
                    f"Not in it: {name}, which is on {place}; copy its ARCHIVE_DIR as well."
                )
        self.stdout.write(
            "Keep SECRET_KEY (or STATE_DIR/secret_key) elsewhere: without it the logins of "
            "crawls cannot be read again."
        )
