"""ReplayWeb.page on this server: whether it is installed, and its installation by a button."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache

from crawling.jobs.enqueue import request_job
from crawling.jobs.job_rows import visible_jobs
from crawling.models import BackgroundJob
from crawling.uses.exports.jobs import PLAYER

#: the same permission as for access rules, since the installation changes the server
PERMISSION = "crawling.add_allowednetwork"
#: the subject of jobs, so that only one installation is open at a time
SUBJECT = "player"
#: the cache key of the sentence that says why an installation would fail
OBSTACLE = f"{PLAYER.name}.obstacle"
#: the seconds after which it is checked again whether npm can fetch the player
ASKED_AGAIN_SECONDS = 30
OFF = "Replay is off: ReplayWeb.page is not installed on this server."


def is_installed() -> bool:
    return bool((settings.REPLAY_DIR / "sw.js").is_file())


@dataclass(frozen=True)
class PlayerState:
    version: str
    is_installed: bool
    #: the latest requested installation
    job: BackgroundJob | None
    #: the reason why the latest installation failed
    trouble: str
    #: the reason why an installation would fail now; looked up only for users who may install the
    #: player
    obstacle: str

    @property
    def under_way(self) -> BackgroundJob | None:
        return self.job if self.job and self.job.is_open else None


def player_state(user: User) -> PlayerState:
    job = visible_jobs().filter(kind=PLAYER.name).order_by("-pk").first()
    is_there = is_installed()
    is_open = bool(job and job.is_open)
    asks = not is_there and not is_open and user.has_perm(PERMISSION)
    trouble = job.trouble if job and not is_there else ""
    return PlayerState(
        settings.REPLAY_PLAYER.version,
        is_there,
        job,
        trouble,
        _why_not_installable() if asks else "",
    )


def _why_not_installable() -> str:
    known: str | None = cache.get(OBSTACLE)
    if known is None:
        known = str(settings.REPLAY_PLAYER.why_not_fetched())
        cache.set(OBSTACLE, known, ASKED_AGAIN_SECONDS)
    return known


def install_player(by: User) -> BackgroundJob:
    return request_job(PLAYER, None, by=by, subject=SUBJECT)
