"""`manage.py install_replay FILE`: unpack ReplayWeb.page, which `make replay` fetches."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from crawlsite.replay.player import PLAYER, BadPackage


class Command(BaseCommand):
    help = (
        f"Install ReplayWeb.page {PLAYER.version} from its npm package, whose checksum is "
        "compared. It is served at the next start."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("package", type=Path, metavar="FILE", help="as `npm pack` writes it")

    def handle(self, *, package: Path, **options: Any) -> None:
        try:
            PLAYER.install(package, settings.STATE_DIR)
        except BadPackage as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{package}: {error.strerror}") from error
        self.stdout.write(
            f"ReplayWeb.page {PLAYER.version} is installed. "
            "It is served at the next start of `make run`."
        )
