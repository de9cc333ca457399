"""`manage.py install_replay FILE`: unpack ReplayWeb.page, which `make replay` fetches."""

from __future__ import annotations

from crawlsite.management.install import InstallCommand
from crawlsite.replay.player import PLAYER


class Command(InstallCommand):
    help = (
        f"Install ReplayWeb.page {PLAYER.version} from its npm package, whose checksum is "
        "compared. It is served at the next start."
    )
    program = PLAYER
    title = "ReplayWeb.page"
    effect = "It is served at the next start of `make run`."
