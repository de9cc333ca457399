"""Write a back-up while everything goes on: readers take no lock that a crawl would wait for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from crawling.archive.files import deletions_held
from crawling.checkpoints.checkpoint_export import SNAPSHOT
from crawling.checkpoints.directory import CheckpointWriter
from crawling.models import ArchiveFile
from crawling.sealed_text import seal
from crawlsite.backup.manifest import BackupManifest, BackupTrouble, table_file

#: sessions do not belong in a back-up; migrations are compared, not restored
LEFT_OUT = ("django_session", "django_migrations")
#: of the settings, those that are secret, may hold a password or name servers
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


def back_up(folder: Path) -> BackupManifest:
    """Write it to a new directory, which appears as a whole or not at all.

    Raises BackupTrouble.
    """
    folder = folder.expanduser().resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BackupTrouble(f"{folder} is there already; name a directory that is new or empty.")
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        with deletions_held():
            manifest = _write(unfinished)
        unfinished.rename(folder)
    except OSError as error:
        raise BackupTrouble(f"{folder} cannot be written: {error.strerror}.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return manifest


def _write(folder: Path) -> BackupManifest:
    writer = CheckpointWriter(folder)
    folder.chmod(0o700)  # accounts with their passwords' hashes are in it
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(SNAPSHOT)
            cursor.execute("SELECT transaction_timestamp()")
            taken_at = cursor.fetchone()[0].isoformat()
            tables = _tables(cursor, writer)
            cursor.execute(SEQUENCES)  # they only rise, so those of a moment later will do
            sequences = dict(cursor.fetchall())
        files = list(ArchiveFile.objects.filter(committed_length__gt=0))
        migrations = migrations_done()
    here = [file for file in files if file.is_here]
    for file in here:
        writer.copy_archive(file)
    manifest = BackupManifest(
        taken_at=taken_at,
        migrations=migrations,
        tables=tables,
        sequences=sequences,
        files=[file.name for file in here],
        elsewhere={file.name: file.machine for file in files if file not in here},
        settings={
            name: value
            for name, value in asdict(settings.ENVIRONMENT).items()
            if name not in UNTOLD
        },
        sealed=seal("crawlsite"),
    )
    writer.finish(manifest.as_text())
    return manifest


def _tables(cursor: Any, writer: CheckpointWriter) -> dict[str, dict[str, Any]]:
    cursor.execute(COLUMNS)
    tables = {}
    for table, columns in cursor.fetchall():
        if table not in LEFT_OUT:
            writer.write_pieces(table_file(table), _copied(cursor, table, columns))
            tables[table] = {"columns": columns, "rows": cursor.rowcount}
    return tables


def _copied(cursor: Any, table: str, columns: list[str]) -> Iterator[bytes]:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    with cursor.copy(
        sql.SQL("COPY {} ({}) TO STDOUT").format(sql.Identifier(table), names)
    ) as copy:
        for piece in copy:
            yield bytes(piece)


def migrations_done() -> list[str]:
    """What the database has been migrated to."""
    return sorted(".".join(done) for done in MigrationRecorder(connection).applied_migrations())
