"""Make an empty installation what a back-up was."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import psycopg
from django.db import Error as DatabaseError
from django.db import connection, transaction
from psycopg import sql

from crawling.archive.adoption import checked_name, copy_file, own_restored
from crawling.audit import note
from crawling.models import CrawlJob
from crawling.scheduler.leader import is_somebody_leading
from crawling.sealed_text import SealBroken, unseal
from crawling.storage import storage
from crawlsite.backup.dump import migrations_done
from crawlsite.backup.manifest import BackupManifest, BackupTrouble, read_manifest, table_file

PIECE_BYTES = 1024 * 1024


def restore(folder: Path) -> BackupManifest:
    """Load a back-up into this installation, all of it or nothing. Raises BackupTrouble.

    What was at work then is taken up as after a crash: leases that have run out give back what they
    held, and runs go on.
    """
    folder = folder.expanduser().resolve()
    manifest = read_manifest(folder)
    _check(manifest)
    copied: list[str] = []
    try:
        for name in manifest.files:
            copied.append(copy_file(folder / "archive" / name, checked_name(name)))
        with transaction.atomic(durable=True):
            _load(folder, manifest)
            own_restored(manifest.files)
            crawl = CrawlJob.objects.order_by("pk").last()
            if crawl:
                note(
                    None,
                    crawl,
                    "restored the installation",
                    {"back-up of": (None, manifest.taken_at)},
                )
    except BaseException as error:
        for stored_name in copied:
            storage().delete(stored_name)
        if isinstance(error, OSError | EOFError | DatabaseError | psycopg.Error):
            raise BackupTrouble(
                f"The back-up cannot be loaded, and nothing was: {str(error).splitlines()[0]}."
            ) from error
        raise
    return manifest


def _check(manifest: BackupManifest) -> None:
    """Raises BackupTrouble unless this installation is empty, at rest, of the same version, and has
    the key.
    """
    if is_somebody_leading():
        raise BackupTrouble("A scheduler is running here; stop everything before restoring.")
    if CrawlJob.objects.exists():
        raise BackupTrouble(
            "There are crawls in this installation; restore into an empty one: name another "
            "STATE_DIR, or an empty database."
        )
    if (here := migrations_done()) != manifest.migrations:
        odd = sorted(set(here) ^ set(manifest.migrations))
        raise BackupTrouble(
            f"The back-up is of another version (migration {odd[0]} is in one of the two only); "
            "restore it with that version, then upgrade."
        )
    try:
        unseal(manifest.sealed)
    except SealBroken as error:
        raise BackupTrouble(
            "SECRET_KEY is not the one of the back-up, so the secrets of its crawls and alerts "
            "could "
            "never be read; set it as it was, or copy the file secret_key from the old "
            "STATE_DIR to the new one."
        ) from error


def _load(folder: Path, manifest: BackupManifest) -> None:
    with connection.cursor() as cursor:
        # Rows of a new installation (roles, permissions, a pool, an administrator) are replaced.
        cursor.execute(
            sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(map(sql.Identifier, manifest.tables)))
        )
        for table, facts in manifest.tables.items():
            _fill(cursor, folder / table_file(table), table, facts["columns"])
        for sequence, value in manifest.sequences.items():
            cursor.execute("SELECT setval(%s::regclass, %s)", [f'"{sequence}"', value])


def _fill(cursor: Any, path: Path, table: str, columns: list[str]) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    into = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
    with gzip.open(path, "rb") as file, cursor.copy(into) as copy:
        while piece := file.read(PIECE_BYTES):
            copy.write(piece)
