"""The settings of the product, and a database of a benchmark's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection

import crawlsite.settings


def set_up_django() -> None:
    settings.configure(
        **{
            name: getattr(crawlsite.settings, name)
            for name in dir(crawlsite.settings)
            if name.isupper()
        }
    )
    django.setup()


@contextmanager
def empty_database() -> Iterator[None]:
    """Migrate it first, and drop it at the end."""
    connection.settings_dict["TEST"]["NAME"] = f"bench_{os.getpid()}"
    before = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield
    finally:
        connection.creation.destroy_test_db(before, verbosity=0)


@contextmanager
def database_of_pages() -> Iterator[None]:
    """An empty database that is set up, with views, templates, connections and memory as the web
    server has them.
    """
    import_module("crawlsite.wsgi")
    call_command("collectstatic", interactive=False, verbosity=0)
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.DEMO = False  # its crawls hold units, and wait for more before others may have some
    with empty_database():
        call_command("set_up")
        yield


def in_services(
    checkout: Path, state: Path, command: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run a command of a checkout on servers of its own, whose tables are made first."""
    python = str(checkout / ".venv/bin/python")
    inner = f'"{python}" manage.py migrate -v 0 && exec "$@"'
    services = [python, "-m", "crawlsite.services", "--state-dir", str(state), "exec"]
    return subprocess.run(  # noqa: S603  # ours
        [*services, "sh", "-c", inner, "sh", *command],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
