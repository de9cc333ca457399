"""The replay server, which sends the unchanged files of ReplayWeb.page, and WACZ files to users
with permission.

Each run has a separate origin, since scripts of its archived pages run there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from wsgiref.headers import Headers
from wsgiref.types import StartResponse, WSGIEnvironment

import django
from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from whitenoise import WhiteNoise

from crawling.base.use import module_of_use
from crawlsite.middleware.request_buffer import RequestBufferMiddleware
from crawlsite.middleware.secret_addresses import hide_secrets_in_gunicorn_logs
from crawlsite.private_files import keep_private

#: the time for which a thread keeps its connection to PostgreSQL
KEPT_SECONDS = 60
Application = Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]
#: the use that provides the files for replays
EXPORTS = "crawling.uses.exports"


def make_application() -> Callable[..., Iterable[bytes]]:
    keep_private()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlsite.settings")
    django.setup()
    hide_secrets_in_gunicorn_logs(settings.OWN_HOSTS)
    if not apps.is_installed(EXPORTS):
        return answer_nothing
    answers = module_of_use(apps.get_app_config("exports"), "replay.answers")

    def add_headers(headers: Headers, path: str, url: str) -> None:
        for name, value in answers.player_headers().items():
            headers[name] = value

    kept = {"CONN_MAX_AGE": KEPT_SECONDS, "CONN_HEALTH_CHECKS": True}
    connections.settings[DEFAULT_DB_ALIAS].update(kept)
    player = files_when_released(settings.REPLAY_DIR, answers.answer_nothing, add_headers)
    return RequestBufferMiddleware(answers.with_player(player)).__call__


def files_when_released(
    folder: Path, otherwise: Application, add_headers: Callable[[Headers, str, str], None]
) -> Application:
    """The files of ReplayWeb.page, which may be installed while this process runs."""

    @cache
    def files() -> WhiteNoise:
        return WhiteNoise(
            otherwise,
            root=str(folder),
            index_file=True,
            max_age=0,
            allow_all_origins=False,
            add_headers_function=add_headers,
        )

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        application: Application = files() if folder.is_dir() else otherwise
        return application(environ, start_response)

    return answer


def answer_nothing(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
    return [b"Nothing is replayed here: the exports of this installation are taken out.\n"]
