"""ReplayWeb.page on this server: whether it is installed, and its installation by a button."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache

from crawling.jobs.enqueue import request_job
from crawling.jobs.job_rows import seen_jobs
from crawling.models import BackgroundJob
from crawling.uses.exports.jobs import PLAYER

#: as for the addresses that crawls may fetch from: it concerns the server
PERMISSION = "crawling.add_allowednetwork"
#: of one installation at a time
SUBJECT = "player"
#: of the cache
OBSTACLE = f"{PLAYER.name}.obstacle"
#: the reason why npm cannot fetch it is checked again after this time
ASKED_AGAIN_SECONDS = 30
OFF = "Replay is off: ReplayWeb.page is not installed on this server."


def is_installed() -> bool:
    return bool((settings.REPLAY_DIR / "sw.js").is_file())


@dataclass(frozen=True)
class PlayerState:
    version: str
    is_installed: bool
    #: the latest installation that was asked for
    job: BackgroundJob | None
    #: why the latest one failed
    trouble: str
    #: why none would succeed now; only looked up for users who may install
    obstacle: str

    @property
    def under_way(self) -> BackgroundJob | None:
        return self.job if self.job and self.job.is_open else None


def player_state(user: User) -> PlayerState:
    job = seen_jobs().filter(kind=PLAYER.name).order_by("-pk").first()
    is_there = is_installed()
    is_open = bool(job and job.is_open)
    asks = not is_there and not is_open and user.has_perm(PERMISSION)
    trouble = job.trouble if job and not is_there else ""
    return PlayerState(
        settings.REPLAY_PLAYER.version, is_there, job, trouble, _obstacle() if asks else ""
    )


def _obstacle() -> str:
    known: str | None = cache.get(OBSTACLE)
    if known is None:
        known = str(settings.REPLAY_PLAYER.why_not_fetched())
        cache.set(OBSTACLE, known, ASKED_AGAIN_SECONDS)
    return known


def install_player(by: User) -> BackgroundJob:
    return request_job(PLAYER, None, by=by, subject=SUBJECT)
