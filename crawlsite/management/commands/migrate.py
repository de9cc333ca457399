"""Django's `manage.py migrate`, which leaves a database of a version before 0.2.0 unchanged."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

#: the first migrations of each app before they were rewritten for 0.2.0, which happened twice
FIRST_BEFORE_0_2_0 = {
    ("allocation", "0001_functions"),
    ("allocation", "0001_bank"),
    ("crawling", "0001_crawls"),
    ("crawlsite", "0001_initial"),
    ("dnscache", "0001_initial"),
    ("crawling", "0001_tables"),
    ("crawlsite", "0001_api_tokens"),
    ("dnscache", "0001_dns_entry"),
}
REFUSAL = (
    "This database was made by a version before 0.2.0 (it has the migration {found}), and "
    "there is no upgrade from those. "
    "Nothing was changed: database, archive and state directory are as they were. "
    "To continue its crawls or to export them, check out the commit that it ran with. "
    "To use this version, give it an empty database: another directory in STATE_DIR, "
    "or, with servers of your own, another DATABASE_URL and ARCHIVE_DIR."
)
#: tables without a model that refer to tables of models; their rows would prevent all deletions of
#: the rows to which they refer
ORPHANS = """
SELECT DISTINCT conrelid::regclass::text FROM pg_constraint
WHERE contype = 'f' AND confdeltype = 'a' AND connamespace = current_schema()::regnamespace
    AND confrelid::regclass::text = ANY(%(own)s) AND NOT conrelid::regclass::text = ANY(%(own)s)
"""
LEFT = (
    "The table {table} refers to tables of this version, but no installed app has it; its rows "
    "would stop the deletion of crawls. Nothing was changed. Put its app back (USES in "
    "crawlsite/settings.py), remove its tables by `manage.py migrate APP zero`, and only then "
    "take the app out."
)


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        refuse_older(options["database"])
        refuse_orphans(options["database"])
        with garbage_collected_rarely():
            super().handle(*args, **options)


@contextmanager
def garbage_collected_rarely() -> Iterator[None]:
    """For Django's models of each state between two migrations, which are garbage in cycles: with
    the usual threshold the search for them takes a quarter of the time. This takes 30 MB.
    """
    usual = gc.get_threshold()
    gc.set_threshold(200_000, 10, 1_000)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def refuse_older(database: str) -> None:
    """Raise CommandError before anything is written, since the old tables would stop the new
    migrations halfway.
    """
    applied = MigrationRecorder(connections[database]).applied_migrations()
    if found := sorted(FIRST_BEFORE_0_2_0 & applied.keys()):
        raise CommandError(REFUSAL.format(found=".".join(found[0])))


def refuse_orphans(database: str) -> None:
    """Raise CommandError if a use of crawls was removed but its tables were not."""
    own = [
        field.m2m_db_table() for model in apps.get_models() for field in model._meta.many_to_many
    ]
    own += [model._meta.db_table for model in apps.get_models()]
    with connections[database].cursor() as cursor:
        cursor.execute(ORPHANS, {"own": own})
        left = cursor.fetchone()
    if left:
        raise CommandError(LEFT.format(table=left[0]))
