"""`manage.py restore DIR`: load a back-up into an empty installation."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from crawling.dashboard.management.command_errors import plain_errors
from crawlsite.backup import restore


class Command(BaseCommand):
    help = (
        "Load a backup into an empty, stopped installation. Checks every file first; loads "
        "everything or nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", type=Path, help="directory written by `manage.py backup`")

    def handle(self, *, directory: Path, **options: Any) -> None:
        with plain_errors():
            call_command("migrate", verbosity=0)
            done = restore(directory)
        self.stdout.write(
            f"This is the installation of {done.taken_at}. Start everything: runs that were active "
            "continue."
        )
        for name, place in done.elsewhere.items():
            if place != settings.ARCHIVE_URL:
                self.stdout.write(
                    f"Not restored: {name}, which was on {place}; put it into "
                    f"ARCHIVE_DIR/{name.partition('-')[0]} by hand, or set ARCHIVE_URL as it was."
                )
        for name, value in done.settings.items():
            self.stdout.write(f"  {name.upper()} was {value}")
