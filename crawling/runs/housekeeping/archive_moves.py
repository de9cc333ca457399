"""Moves the archive of this machine into the bucket, or back into the directory, while crawls run:
files on this machine are read first, and are removed once the bucket has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings

from crawling.archive.files import seal_all, this_machine
from crawling.archive.parts import open_stored, upload
from crawling.archive.reader import CommittedBytes, pieces
from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import has_bucket, local_storage, pieces_of, storage
from crawling.datasets.parts import adopt_parts
from crawling.jobs.removal import adopt_jobs
from crawling.models import ArchiveFile, BackgroundJob, LinksPart
from crawling.models.jobs import ENDED_STATES

#: called with the name of each file that was moved
Note = Callable[[str], None]


def move_to_bucket(note: Note) -> None:
    """Upload the files of this machine that are not written any more. Safe to repeat. Raises
    OSError, ArchiveTrouble.
    """
    _check_bucket()
    own = local_storage()
    left = ArchiveFile.objects.filter(sealed_at=None, machine=this_machine())
    for run_id in set(left.filter(run__state__in=ENDED_STATES).values_list("run", flat=True)):
        seal_all(run_id)
    for row in _sealed_files():
        if own.size(row.stored_name) is None:
            continue
        while row.uploaded_length < row.committed_length:
            upload(row)
        own.delete(row.stored_name)
        note(row.name)
    for folder in _folders():
        for file in own.list(folder):
            name = f"{folder}/{file}"
            storage().put(name, pieces_of(own.open(name)))
            own.delete(name)
            note(name)


def move_to_directory(note: Note) -> None:
    """Copy the files of the bucket that are not written any more into the directory of this
    machine. Safe to repeat. Raises OSError, ArchiveTrouble.

    Other machines read from the bucket until its setting is removed, so the bucket keeps all files.
    """
    _check_bucket()
    own = local_storage()
    for row in _sealed_files():
        if own.size(row.stored_name) != row.committed_length:
            source = CommittedBytes(open_stored(row, 0), row.committed_length)
            own.put(row.stored_name, pieces(source))
            ArchiveFile.objects.filter(pk=row.pk, name=row.name).update(machine=this_machine())
            note(row.name)
    for folder in _folders():
        for file, size in storage().list(folder).items():
            name = f"{folder}/{file}"
            if own.size(name) != size:
                own.put(name, pieces_of(storage().open(name)))
                note(name)
    adopt_parts()
    adopt_jobs()
    _remove_files_without_rows()


def _check_bucket() -> None:
    if not has_bucket():
        raise ArchiveTrouble("There is no bucket: set ARCHIVE_URL for this command.")


def _sealed_files() -> Iterator[ArchiveFile]:
    rows = ArchiveFile.objects.filter(
        run__isnull=False, sealed_at__isnull=False, committed_length__gt=0
    )
    return rows.order_by("pk").iterator()


def _folders() -> list[str]:
    """The folders of stored files beside the archive."""
    parts = LinksPart.objects.filter(run__isnull=False).values_list("name", flat=True)
    jobs = BackgroundJob.objects.filter(is_forgotten=False).values_list("name", flat=True)
    names = {*parts.iterator(), *jobs.iterator()}
    return sorted({name.partition("/")[0] for name in names if name})


def _remove_files_without_rows() -> None:
    """Remove copies of files that were deleted or rewritten while they were copied. Every file has
    a row before it begins.
    """
    folders = [path.name for path in Path(settings.ARCHIVE_DIR).glob("run[0-9]*")]
    found = {file: folder for folder in folders for file in local_storage().list(folder)}
    known = set(ArchiveFile.objects.filter(name__in=found).values_list("name", flat=True))
    for file, folder in found.items():
        if file not in known:
            local_storage().delete(f"{folder}/{file}")
