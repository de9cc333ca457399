"""A database in which all migrations have run: each worker of the suite clones it, instead of
running migrations for seconds.

The template is kept for the next run of the suite, and made anew when a migration changes. A file
beside it has the same as SQL, for servers that a test starts.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import psycopg
from django.apps import apps
from django.conf import settings
from django.db import connection
from psycopg import sql

from crawlsite.env import BASE_DIR
from crawlsite.services.binaries import find_postgres
from tests.stack import database_url

#: the number of an advisory lock: one worker runs the migrations, and the others wait for it
LOCK = 7_265_461
#: psql's commands, which PostgreSQL does not understand
OF_PSQL = re.compile(rb"^\\.*\n", re.MULTILINE)


@cache
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
        if name not in found or not tables_file(name).exists():
            for old in found:
                server.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(old)))
                tables_file(old).unlink(missing_ok=True)
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
    tables_file(name).write_bytes(dumped(unfinished, "--rows-per-insert=200"))
    server.execute(
        sql.SQL("ALTER DATABASE {} RENAME TO {}").format(
            sql.Identifier(unfinished), sql.Identifier(name)
        )
    )


def dumped(database: str, *options: str) -> bytes:
    """The tables and rows of a database of the tests' server, as SQL."""
    program = find_postgres().directory / "pg_dump"
    words = [program, *options, "--no-owner", "--no-privileges", database_url(database)]
    return OF_PSQL.sub(b"", subprocess.run(words, check=True, capture_output=True).stdout)


def tables_file(template: str) -> Path:
    return settings.STATE_DIR / f"{template}.sql"


def lay_tables(address: str) -> None:
    """Make the tables, and the rows of the migrations, in an empty database of another server, in a
    tenth of the time that the migrations take.
    """
    with psycopg.connect(address, autocommit=True) as database:
        database.execute(tables_file(migrated_template()).read_bytes())
