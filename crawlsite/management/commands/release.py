"""`manage.py release`: everything that must be done before the processes of a version start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from crawlsite.private_files import close_to_others
from crawlsite.static_files import collect_static_files


class Command(BaseCommand):
    help = (
        "Close files to other accounts, migrate the tables, collect static files, and set up a new "
        "installation."
    )

    def handle(self, **options: Any) -> None:
        close_to_others((settings.STATE_DIR, settings.ARCHIVE_DIR))
        # in one process, since each would begin with a second of imports
        call_command("migrate", verbosity=0)
        collect_static_files()
        call_command("set_up", stdout=self.stdout)
