"""Take over the archive files of a checkpoint for a run of this server, with their rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from django.db import connection
from django.db.models.functions import Coalesce, Now

from crawling.archive.files import this_machine
from crawling.base.errors import CheckpointTrouble
from crawling.base.storage import pieces_of, storage
from crawling.frontier.change.checkpoint_restore import renew_ids, stage_rows
from crawling.models import ArchiveFile
from crawling.models.archive import MOST_COMMITTED, NAME

#: the files of a checkpoint; the first `length` bytes of each are committed
FILES = """
SELECT to_jsonb(f) - '{run_id,sealed_at}'::text[] FROM crawling_archivefile f
WHERE f.run_id = %(run)s AND f.committed_length > 0 ORDER BY f.id
"""
OURS = re.compile(NAME)
MACHINE = r"^[A-Za-z0-9._]{1,64}$"

#: The rows come from another server. This query finds a row whose name, machine or length is none
#: that this server would write.
STRANGE_FILES = """
SELECT line->>'name' FROM staged
WHERE (line->>'name' ~ %(name)s AND line->>'machine' ~ %(machine)s
    AND (line->>'committed_length')::bigint BETWEEN 1 AND %(most)s) IS NOT TRUE LIMIT 1
"""
#: pages and further records outside of the committed bytes of their file
STRANGE_PAGES = """
SELECT 1 FROM (
    SELECT archive_file_id, archive_offset, archive_length FROM crawling_page
    WHERE run_id = %(run)s
    UNION ALL SELECT archive_file_id, archive_offset, archive_length FROM crawling_furtherrecord
    WHERE run_id = %(run)s
) p JOIN crawling_archivefile f ON f.id = p.archive_file_id
WHERE (p.archive_offset >= 0 AND p.archive_length > 0
    AND p.archive_length <= f.committed_length - p.archive_offset) IS NOT TRUE LIMIT 1
"""

#: These files get no further records: new records go into new files. The name of a file names its
#: server. The namespace stays, because record ids are made from it.
ADD_FILES = """
INSERT INTO crawling_archivefile (id, run_id, name, namespace, machine, slot, committed_length,
    opened_at, sealed_at)
SELECT own.new, %(run)s, regexp_replace(r.name, '^run[0-9]+', 'run' || %(run)s), r.namespace,
    CASE WHEN %(here)s = '' THEN r.machine ELSE %(here)s END, r.slot, r.committed_length,
        r.opened_at, clock_timestamp()
FROM staged s CROSS JOIN LATERAL jsonb_populate_record(NULL::crawling_archivefile, s.line) r
JOIN new_archive own ON own.old = r.id
"""


def adopt_rows(run_id: int, lines: Iterable[str], *, with_files: bool) -> None:
    """Write the rows of the files, and put their new ids into the table `new_archive`.

    Without files, the archive files stay where they are. Raises CheckpointTrouble for an invalid
    row.
    """
    with connection.cursor() as cursor:
        stage_rows(cursor, lines)
        cursor.execute(
            STRANGE_FILES,
            {"name": NAME, "machine": MACHINE, "most": MOST_COMMITTED},
        )
        if strange := cursor.fetchone():
            name = strange[0]
            raise CheckpointTrouble(f"{name!r} cannot be an archive file of ours; take it anew.")
        renew_ids(cursor, "archive", "crawling_archivefile")
        cursor.execute(ADD_FILES, {"run": run_id, "here": this_machine() if with_files else ""})


def check_places(run_id: int) -> None:
    """Raise CheckpointTrouble if a page of the run has its record outside its file."""
    with connection.cursor() as cursor:
        cursor.execute(STRANGE_PAGES, {"run": run_id})
        if cursor.fetchone():
            raise CheckpointTrouble(
                "A page's record is said to lie outside of its archive file; take it anew.",
            )


def adopt_files(run_id: int, source: Path, names: Iterable[str]) -> None:
    """Copy files into the run's folder, all or none, and sync them to the disk.

    Raises CheckpointTrouble unless they are exactly the files of the run's rows, with the same
    lengths.
    """
    folder = f"run{run_id}"
    if storage().list(folder):  # the folder belongs to another server that shares the directory
        raise CheckpointTrouble(
            f"The archive's files cannot be copied: there are files in {folder}. Is ARCHIVE_DIR "
            "this server's alone?"
        )
    try:
        copied = [
            copy_file(source / name, f"run{run_id}-{name.partition('-')[2]}") for name in names
        ]
        rows = ArchiveFile.objects.filter(run=run_id)
        expected = {row.stored_name: row.committed_length for row in rows}
        if {name: storage().size(name) for name in copied} != expected:
            raise CheckpointTrouble("The archive's files are not those of its rows; take it anew.")
    except BaseException as error:
        forget_files(run_id)
        if isinstance(error, OSError):
            raise CheckpointTrouble(f"The archive's files cannot be copied: {error}.") from error
        raise


def copy_file(source: Path, name: str) -> str:
    """Copy a file into the archive under a new name. Return its stored name.

    Raises OSError.
    """
    stored_name = ArchiveFile(name=name).stored_name
    storage().put(stored_name, pieces_of(source.open("rb")))
    return stored_name


def adopt_restored(names: Collection[str]) -> None:
    """Make the files of a restored installation those of this machine, complete up to their
    committed lengths.
    """
    rows = ArchiveFile.objects.filter(name__in=names)
    rows.update(machine=this_machine(), parts=[], sealed_at=Coalesce("sealed_at", Now()))


def forget_files(run_id: int) -> None:
    """Remove the copies of files for a run that could not be created."""
    with suppress(OSError):
        storage().delete_folder(f"run{run_id}")


def checked_name(name: str) -> str:
    """Return the name of a file, if it has the form of our names and does not lead out of its
    folder. Raises CheckpointTrouble.
    """
    if not OURS.fullmatch(name):
        raise CheckpointTrouble(f"{name!r} is no name of an archive file of ours.")
    return name
