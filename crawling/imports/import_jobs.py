"""Imports that users ask for: of files in IMPORT_DIR, each done by a background job."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections, transaction
from django.db.models import F
from django.db.models.functions import Now

from crawling.crawls.creation import LONGEST_NAME
from crawling.errors import BadOrder, CrawlError
from crawling.imports.foreign_files import ARCHIVES, printable
from crawling.imports.importing import ImportResult, ImportTrouble, import_files
from crawling.jobs.rq_jobs import IMPORT
from crawling.models import ArchiveImport
from crawling.process.work_folders import remove_abandoned_folders

logger = logging.getLogger(__name__)

ENDINGS = (*ARCHIVES, ".wacz", ".zip")
MOST_FILES = 100
#: files of IMPORT_DIR that are offered
MOST_OFFERED = 500
#: after so many jobs that did not come to their end there is no other
MOST_ATTEMPTS = 3
CANCELLED = "A user has cancelled it."
KILLED = f"The background job was killed {MOST_ATTEMPTS} times; the worker's log says why."


def offered_files() -> dict[str, int]:
    """The names of the files in IMPORT_DIR that can be imported, and their sizes; the first by
    name, if there are many. What is reached by a link is none of them, nor what has a name that
    cannot be shown.
    """
    folder = Path(settings.IMPORT_DIR)
    if not folder.is_dir():
        return {}
    with os.scandir(folder) as entries:
        names = sorted(
            entry.name
            for entry in entries
            if entry.name.lower().endswith(ENDINGS)
            and entry.name.isprintable()
            and entry.is_file(follow_symlinks=False)
        )
    sizes: dict[str, int] = {}
    for name in names[:MOST_OFFERED]:
        with suppress(FileNotFoundError):  # it was taken away just now
            sizes[name] = (folder / name).stat().st_size
    return sizes


def ask_import(files: Sequence[str], name: str, *, by: User | None) -> ArchiveImport:
    """Let a background job import files of IMPORT_DIR as one run.

    name: of the crawl; empty: by the first file. Raises BadOrder.
    """
    errors, offered = {}, offered_files()
    if not 1 <= len(files) <= MOST_FILES or len(set(files)) < len(files):
        errors["files"] = f"must be 1 to {MOST_FILES} different files"
    elif unknown := [file for file in files if file not in offered]:
        errors["files"] = f"{unknown[0][:100]!r} is no WARC, ARC or WACZ file in IMPORT_DIR"
    if len(name) > LONGEST_NAME or not name.isprintable():
        errors["name"] = f"must be one line of up to {LONGEST_NAME} characters"
    if errors:
        raise BadOrder(errors)
    with transaction.atomic():
        row = ArchiveImport.objects.create(
            files=list(files),
            name=name.strip() or name_of(files[0]),
            namespace=uuid4(),
            bytes=sum(offered[file] for file in files),
            by=by,
        )
        transaction.on_commit(partial(IMPORT.ask, row.pk))
    return row


def name_of(file: str) -> str:
    """A crawl's name for a file's."""
    stem = Path(file).name
    ending = next((ending for ending in ENDINGS if stem.lower().endswith(ending)), "")
    ending = stem[len(stem) - len(ending) :]
    return f"Import of {printable(stem.removesuffix(ending))}"[:LONGEST_NAME]


def import_asked(import_id: int) -> None:
    """What RQ runs. After a kill the next one begins anew."""
    connections.close_all()  # a connection from before the fork belongs to the parent
    remove_abandoned_folders()
    with IMPORT.alone(import_id) as is_alone:
        rows = ArchiveImport.objects.filter(pk=import_id, ended_at=None)
        row = rows.select_related("by").first()
        if row is None or not is_alone:
            return
        if row.attempts >= MOST_ATTEMPTS:
            rows.update(ended_at=Now(), trouble=KILLED)
            return
        rows.update(attempts=F("attempts") + 1, read_bytes=0, answers=0)
        _import(row)


def clear_import(import_id: int) -> None:
    """Remove what a job that was killed has left."""
    remove_abandoned_folders()


def _import(row: ArchiveImport) -> None:
    """Import its files. What went wrong stands in its `trouble`."""
    rows = ArchiveImport.objects.filter(pk=row.pk, ended_at=None)

    def note(read: int, answers: int) -> None:
        if not rows.update(read_bytes=read, answers=answers):
            raise ImportTrouble(CANCELLED)

    def confirm(made: ImportResult) -> None:
        facts = {"pages": made.pages, "left_out": made.left_out, "remarks": made.remarks}
        if not rows.update(ended_at=Now(), run=made.run, **facts):
            raise ImportTrouble(CANCELLED)

    files = [Path(settings.IMPORT_DIR) / file for file in row.files]
    try:
        import_files(
            files,
            name=row.name,
            namespace=row.namespace,
            by=row.by,
            note=note,
            confirm=confirm,
        )
    except CrawlError as error:
        if rows.update(ended_at=Now(), trouble=str(error)):
            logger.warning("an import failed", extra={"import": row.pk, "why": str(error)})
