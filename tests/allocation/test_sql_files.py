"""The server's functions and views are those of `allocation/sql`, which is where to read them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection

FOLDER = Path(apps.get_app_config("allocation").path)
FILES = sorted((FOLDER / "sql").glob("*.sql"))

#: with what a function is made of: its arguments, its options, its text; and what is said of it
INSTALLED = r"""
SELECT substr(proname, 12), pg_get_functiondef(pg_proc.oid), obj_description(pg_proc.oid, 'pg_proc')
  FROM pg_proc WHERE proname LIKE 'allocation\_%'
UNION ALL SELECT viewname, definition, '' FROM pg_views WHERE schemaname = 'public'
"""


def installed() -> list[tuple[str, str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(INSTALLED)
        return sorted(cursor.fetchall())


def run(file: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute(file.read_text())


def test_each_function_and_view_stands_in_the_file_of_its_name(db):
    assert [name for name, _, _ in installed()] == [file.stem for file in FILES]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_installed_is_what_the_file_says(db, file):
    """A file that was changed without a migration that runs a copy of it is found here."""
    by_migrations = installed()

    run(file)

    assert installed() == by_migrations
