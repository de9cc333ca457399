"""Separate databases for benchmarks: an empty one, and one as the web server uses it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection

from crawlsite.env import BASE_DIR, child_environment


@contextmanager
def empty_database() -> Iterator[None]:
    """Create and migrate an empty database, and drop it at the end."""
    connection.settings_dict["TEST"]["NAME"] = f"bench_{os.getpid()}"
    before = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield
    finally:
        connection.creation.destroy_test_db(before, verbosity=0)


@contextmanager
def database_of_pages() -> Iterator[None]:
    """Create an empty database whose pages can be requested, set it up, and drop it at the end."""
    serve_pages()
    with empty_database():
        call_command("set_up")
        yield


def serve_pages() -> None:
    """Set up views, templates, connections and memory as in the web server."""
    import_module("crawlsite.wsgi")
    call_command("collectstatic", interactive=False, verbosity=0)
    settings.ALLOWED_HOSTS = ["testserver"]
    # the crawls of the demo hold units, and wait for more before others get some
    settings.DEMO = False
    # further processes of the server would not be counted
    alone = {"options": "-c max_parallel_workers_per_gather=0"}
    connection.settings_dict.setdefault("OPTIONS", {}).update(alone)
    connection.close()


def execute(*statements: str, given: Mapping[str, Any] | Sequence[Any] | None = None) -> None:
    """Run a statement. given: the values for `%(name)s`; with them, a per cent sign is written
    twice.
    """
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, given)


def query_rows(statement: str, given: Mapping[str, Any] | Sequence[Any] | None = None) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return cursor.fetchall()


def on_own_servers(
    state: Path | str, *command: str, checkout: Path = BASE_DIR, is_told: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a command of a checkout with its own servers, whose tables are created first. Its output
    is captured, or printed if `is_told`.
    """
    python = str(checkout / ".venv/bin/python")
    inner = f'"{python}" manage.py migrate -v 0 && exec "$@"'
    services = [python, "-m", "crawlsite.services", "--state-dir", str(state), "exec"]
    return subprocess.run(  # noqa: S603  # ours
        [*services, "sh", "-c", inner, "sh", *command],
        cwd=checkout,
        env=child_environment({"DATABASE_URL": "", "REDIS_URL": ""}),
        capture_output=not is_told,
        text=True,
        check=False,
    )
