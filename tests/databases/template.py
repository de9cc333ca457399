"""A database in which all migrations have run: each worker of the suite clones it, instead of
running migrations for seconds.

The template is kept for the next run of the suite, and made anew when a migration changes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import psycopg
from django.apps import apps
from django.db import connection
from psycopg import sql

from crawlsite.env import BASE_DIR
from tests.stack import database_url

#: the number of an advisory lock: one worker runs the migrations, and the others wait for it
LOCK = 7_265_461


def migrated_template() -> str:
    """Return the template's name, for Django's setting TEST["TEMPLATE"]."""
    start = f"migrated_{connection.settings_dict['NAME']}_"
    name = start + digest_of_migrations()
    with psycopg.connect(database_url("postgres"), autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        found = {
            row[0]
            for row in server.execute(
                "SELECT datname FROM pg_database WHERE datname ~ %s",
                [f"^{start}([0-9a-f]{{12}}|new)$"],
            )
        }
        if name not in found:
            for old in found:
                server.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(old)))
            make(server, name, unfinished=f"{start}new")
    return name


def digest_of_migrations() -> str:
    folders = [Path(app.path, "migrations") for app in apps.get_app_configs()]
    kinds = ("*.py", "sql/*/*.sql")
    files = [path for folder in folders for kind in kinds for path in sorted(folder.glob(kind))]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:12]


def make(server: psycopg.Connection, name: str, *, unfinished: str) -> None:
    """Make the template, under another name first: a run that is killed half-way must leave no
    template that looks complete.
    """
    server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(unfinished)))
    env = {**os.environ, "DATABASE_URL": database_url(unfinished)}
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--skip-checks", "--verbosity", "0"],
        cwd=BASE_DIR,
        env=env,
        check=True,
    )
    server.execute(
        sql.SQL("ALTER DATABASE {} RENAME TO {}").format(
            sql.Identifier(unfinished), sql.Identifier(name)
        )
    )
