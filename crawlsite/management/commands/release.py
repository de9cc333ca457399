"""`manage.py release`: everything that must be done before the processes of a version start."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand

from crawlsite.private_files import deny_others

#: the file in STATIC_ROOT that says from which files the others were made; it is written last
MARK = "made-from.sha256"


class Command(BaseCommand):
    help = (
        "Close files to other accounts, migrate the tables, collect static files, and set up a new "
        "installation."
    )

    def handle(self, **options: Any) -> None:
        deny_others((settings.STATE_DIR, settings.ARCHIVE_DIR))
        # in one process, since each would begin with a second of imports
        call_command("migrate", verbosity=0)
        collect_static_files()
        call_command("set_up", stdout=self.stdout)


def collect_static_files() -> None:
    """Collect the static files, which takes three seconds, unless none of them has changed since.

    Raises OSError if STATIC_ROOT cannot be written to.
    """
    mark, sources = settings.STATIC_ROOT / MARK, _source_digest()
    if mark.is_file() and mark.read_text() == sources:
        return
    mark.unlink(missing_ok=True)
    call_command("collectstatic", interactive=False, verbosity=0)
    mark.touch(0o640)
    mark.write_text(sources)


def _source_digest() -> str:
    """A digest of the names, sizes and times of all static files, and of the way they are stored.
    It takes 20 ms; to read the files would take ten times as long.
    """
    digest = sha256(repr(settings.STORAGES["staticfiles"]).encode())
    for finder in get_finders():
        for name, storage in finder.list([]):
            found = os.stat(storage.path(name))
            digest.update(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()
