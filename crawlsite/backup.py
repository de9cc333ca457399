"""Back-ups of the whole installation to a directory, and their restoration: all rows at one moment,
and the archive's files with their lengths at that moment.

A back-up is written while everything continues, since reading takes no lock for which a crawl would
wait.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from crawling.archive.adoption import adopt_restored, checked_name, copy_file
from crawling.archive.checkpoint_directory import (
    MANIFEST,
    SNAPSHOT,
    SUMS,
    CheckpointWriter,
    check_file,
    read_sums,
)
from crawling.archive.files import deletions_held
from crawling.base.audit import record_action
from crawling.base.encrypted_text import SealBroken, seal, unseal
from crawling.base.errors import CheckpointTrouble
from crawling.base.storage import storage
from crawling.datasets.parts import drop_all_parts
from crawling.jobs.kinds import JobEvent
from crawling.jobs.removal import delete_jobs_after_event
from crawling.models import ArchiveFile, CrawlJob
from crawling.scheduler.leader import has_leader

FORMAT, VERSION = "crawlsite-backup", 1
#: sessions are left out of a back-up; migrations are compared, but not restored
LEFT_OUT = ("django_session", "django_migrations")
#: settings that are secret, or that may contain a password or name servers
UNTOLD = ("secret_key", "database_url", "redis_url", "mail_url")
COLUMNS = """
SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0
    AND NOT a.attisdropped AND a.attgenerated = ''
GROUP BY 1 ORDER BY 1
"""
SEQUENCES = (
    "SELECT sequencename::text, last_value FROM pg_sequences WHERE schemaname = current_schema() "
    "AND last_value IS NOT NULL"
)
PIECE_BYTES = 1024 * 1024


class BackupTrouble(CheckpointTrouble):
    """The back-up cannot be made or restored."""


@dataclass(frozen=True)
class BackupManifest:
    taken_at: str
    migrations: list[str]
    #: columns and rows by table
    tables: dict[str, dict[str, Any]]
    #: the last values of sequences
    sequences: dict[str, int]
    #: names of the archive's files in the back-up
    files: list[str]
    #: the places of files that are in the bucket or on other machines
    elsewhere: dict[str, str]
    #: the settings at that time, for the new installation, without secrets
    settings: dict[str, Any]
    #: a sealed text, which shows whether SECRET_KEY is the key with which the crawls' logins were
    #: sealed
    sealed: str

    def as_text(self) -> str:
        return (
            json.dumps(
                {"format": FORMAT, "version": VERSION, **asdict(self)}, indent=2, default=str
            )
            + "\n"
        )


def table_file(table: str) -> str:
    return f"{table}.copy.gz"


def read_manifest(folder: Path) -> BackupManifest:
    """Read a back-up's manifest, and compare every file with its checksum.

    Raises BackupTrouble with a sentence for any fault.
    """
    try:
        sums = read_sums(folder)
        for name in sums:
            check_file(folder, name, sums)
        said = json.loads((folder / MANIFEST).read_text())
        if said["format"] != FORMAT or said["version"] > VERSION:
            raise BackupTrouble(f"{folder} is no back-up that this version reads.")
        manifest = BackupManifest(
            **{name: said[name] for name in BackupManifest.__dataclass_fields__}
        )
    except BackupTrouble:
        raise
    except CheckpointTrouble as trouble:
        raise BackupTrouble(str(trouble)) from trouble
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackupTrouble(f"{folder} is no back-up, or not a whole one: {error}.") from error
    wanted = [*map(table_file, manifest.tables), *(f"archive/{name}" for name in manifest.files)]
    if lacking := [name for name in wanted if name not in sums]:
        raise BackupTrouble(f"{folder} is damaged: {SUMS} does not know {lacking[0]}.")
    return manifest


def back_up(folder: Path) -> BackupManifest:
    """Write a back-up to a new directory, which appears as a whole or not at all.

    Raises BackupTrouble.
    """
    folder = folder.expanduser().resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BackupTrouble(f"{folder} is there already; name a directory that is new or empty.")
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        with deletions_held():
            manifest = _write_back_up(unfinished)
        unfinished.rename(folder)
    except OSError as error:
        raise BackupTrouble(f"{folder} cannot be written: {error.strerror}.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return manifest


def _write_back_up(folder: Path) -> BackupManifest:
    writer = CheckpointWriter(folder)
    folder.chmod(0o700)  # it contains accounts with the hashes of their passwords
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(SNAPSHOT)
            cursor.execute("SELECT transaction_timestamp()")
            taken_at = cursor.fetchone()[0].isoformat()
            tables = _write_tables(cursor, writer)
            cursor.execute(SEQUENCES)  # sequences only rise, so slightly later values do no harm
            sequences = dict(cursor.fetchall())
        files = list(ArchiveFile.objects.filter(committed_length__gt=0))
        migrations = applied_migrations()
    here = [file for file in files if file.is_here and not file.is_in_bucket]
    for file in here:
        writer.copy_archive(file)
    manifest = BackupManifest(
        taken_at=taken_at,
        migrations=migrations,
        tables=tables,
        sequences=sequences,
        files=[file.name for file in here],
        elsewhere={
            file.name: settings.ARCHIVE_URL if file.is_in_bucket else file.machine
            for file in files
            if file not in here
        },
        settings={
            name: value
            for name, value in asdict(settings.ENVIRONMENT).items()
            if name not in UNTOLD
        },
        sealed=seal("crawlsite"),
    )
    writer.finish(manifest.as_text())
    return manifest


def _write_tables(cursor: Any, writer: CheckpointWriter) -> dict[str, dict[str, Any]]:
    cursor.execute(COLUMNS)
    tables = {}
    for table, columns in cursor.fetchall():
        if table not in LEFT_OUT:
            writer.write_pieces(table_file(table), _table_content(cursor, table, columns))
            tables[table] = {"columns": columns, "rows": cursor.rowcount}
    return tables


def _table_content(cursor: Any, table: str, columns: list[str]) -> Iterator[bytes]:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    with cursor.copy(
        sql.SQL("COPY {} ({}) TO STDOUT").format(sql.Identifier(table), names)
    ) as copy:
        for piece in copy:
            yield bytes(piece)


def applied_migrations() -> list[str]:
    """The migrations that were applied to the database."""
    return sorted(".".join(done) for done in MigrationRecorder(connection).applied_migrations())


def restore(folder: Path) -> BackupManifest:
    """Load a back-up into this installation, completely or not at all. Raises BackupTrouble.

    Work that was under way at the back-up continues as after a crash: shifts with expired leases
    lose their units, and runs continue.
    """
    folder = folder.expanduser().resolve()
    manifest = read_manifest(folder)
    _check_installation(manifest)
    copied: list[str] = []
    try:
        for name in manifest.files:
            copied.append(copy_file(folder / "archive" / name, checked_name(name)))
        with transaction.atomic(durable=True):
            _load_tables(folder, manifest)
            adopt_restored(manifest.files)
            drop_all_parts()
            delete_jobs_after_event(JobEvent.RESTORED)
            crawl = CrawlJob.objects.order_by("pk").last()
            if crawl:
                record_action(
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


def _check_installation(manifest: BackupManifest) -> None:
    """Raise BackupTrouble unless this installation is empty, idle, of the same version, and has the
    same key.
    """
    if has_leader():
        raise BackupTrouble("A scheduler is running here; stop everything before restoring.")
    if CrawlJob.objects.exists():
        raise BackupTrouble(
            "There are crawls in this installation; restore into an empty one: name another "
            "STATE_DIR, or an empty database."
        )
    if (here := applied_migrations()) != manifest.migrations:
        odd = sorted(set(here) ^ set(manifest.migrations))
        raise BackupTrouble(
            f"The back-up is of another version (migration {odd[0]} is in one of the two only); "
            "restore it with that version, then upgrade. "
            "From a version before 0.2.0 there is no upgrade."
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


def _load_tables(folder: Path, manifest: BackupManifest) -> None:
    with connection.cursor() as cursor:
        # the rows of a new installation (roles, permissions, a pool, an administrator) are replaced
        cursor.execute(
            sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(map(sql.Identifier, manifest.tables)))
        )
        for table, facts in manifest.tables.items():
            _fill_table(cursor, folder / table_file(table), table, facts["columns"])
        for sequence, value in manifest.sequences.items():
            cursor.execute("SELECT setval(%s::regclass, %s)", [f'"{sequence}"', value])


def _fill_table(cursor: Any, path: Path, table: str, columns: list[str]) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    into = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
    with gzip.open(path, "rb") as file, cursor.copy(into) as copy:
        while piece := file.read(PIECE_BYTES):
            copy.write(piece)
