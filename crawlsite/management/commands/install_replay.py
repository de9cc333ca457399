"""`manage.py install_replay`: fetch ReplayWeb.page by npm, or use its package, and unpack it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from crawlsite.replay.player import PLAYER, BadPackage, NoPackage


class Command(BaseCommand):
    help = (
        f"Install ReplayWeb.page {PLAYER.version} from its npm package, whose checksum is "
        "compared. It is served at once."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "package",
            type=Path,
            metavar="FILE",
            nargs="?",
            help="as `npm pack` writes it; npm fetches it without one",
        )

    def handle(self, *, package: Path | None = None, **options: Any) -> None:
        player = settings.REPLAY_PLAYER
        try:
            if package:
                player.install(package, settings.STATE_DIR)
            else:
                player.fetch_and_install(settings.STATE_DIR)
        except (BadPackage, NoPackage) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{package or settings.STATE_DIR}: {error.strerror}") from error
        self.stdout.write(f"ReplayWeb.page {player.version} is installed, and served at once.")
