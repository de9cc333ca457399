"""`manage.py migrate`, as Django has it; a database of a version before 0.2.0 is left as it is."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

#: the first migrations of each app before they were written again for 0.2.0, which was done twice
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


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        refuse_older(options["database"])
        super().handle(*args, **options)


def refuse_older(database: str) -> None:
    """Raises CommandError before anything is written: the old tables would stop the new migrations
    halfway.
    """
    applied = MigrationRecorder(connections[database]).applied_migrations()
    if found := sorted(FIRST_BEFORE_0_2_0 & applied.keys()):
        raise CommandError(REFUSAL.format(found=".".join(found[0])))
