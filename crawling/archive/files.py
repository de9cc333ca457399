"""Archive files on this machine, consistent with the database. First a record is appended and
synced; then the rows that refer to it are committed together with the file's new length. So after a
crash a file may be longer than its row says, but never shorter. The next opening cuts off the
excess.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import secrets
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from crawling.archive.parts import delete_stored, upload
from crawling.archive.records import new_namespace
from crawling.base.errors import ArchiveTrouble
from crawling.base.sessions import session_lock
from crawling.base.storage import LOCK, has_bucket, local_storage, storage
from crawling.frontier import locked_run
from crawling.models import ArchiveFile
from crawling.models.archive import archive_folder

logger = logging.getLogger(__name__)

#: the most bytes of a file that are kept in memory
MOST_UNWRITTEN = 1024 * 1024
#: the number of an advisory lock: copies of files share it, removals hold it alone
COPYING_LOCK = 0x6372_6177_6C02
NOT_OF_NAMES = re.compile(r"[^A-Za-z0-9.]")


def this_machine() -> str:
    """The name of this machine, in characters that file names allow, with a suffix that
    distinguishes machines of the same name.
    """
    return (
        NOT_OF_NAMES.sub("_", socket.gethostname())[:55]
        + f".{_machine_id(Path(settings.STATE_DIR))}"
    )


@cache
def _machine_id(state_dir: Path) -> str:
    """The random id of this machine, created once for each state directory and stored there."""
    path, fresh = state_dir / "machine_id", state_dir / f"machine_id.{os.getpid()}"
    if not path.exists():
        fresh.write_text(secrets.token_hex(4))
        with suppress(FileExistsError):
            os.link(fresh, path)  # of several processes the first link wins
        fresh.unlink()
    return path.read_text()


class BytesLost(ArchiveTrouble):
    """This machine has lost committed bytes of a file, so that the file cannot be continued."""

    def __init__(self, row: ArchiveFile) -> None:
        self.row = row
        super().__init__(f"{row.name} is not whole on this machine any more.")


class Slot:
    """One slot of a run on this machine. Only the holder of the slot writes its files.

    The kernel frees the slot when its holder dies.
    """

    def __init__(self, run_id: int, machine: str) -> None:
        self.run_id, self.machine = run_id, machine
        folder = archive_folder(f"run{run_id}")
        folder.mkdir(parents=True, exist_ok=True)
        self.number, self._lock = _first_free(folder, machine)

    def close(self) -> None:
        os.close(self._lock)


def _first_free(folder: Path, machine: str) -> tuple[int, int]:
    for number in count():
        lock = os.open(
            folder / f"{machine}-{number}{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640
        )
        if _is_locked(lock):
            return number, lock
        os.close(lock)
    raise AssertionError("numbers do not end")


def _is_locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class OpenFile:
    """A file to append records to.

    Its row is written before the file, so that every file has a row.
    """

    def __init__(self, row: ArchiveFile) -> None:
        self.row = row
        self._file = local_storage().append(row.stored_name, row.committed_length)
        self.length = self._written = row.committed_length
        self._unwritten: list[bytes] = []

    def append(self, pieces: Iterable[bytes]) -> int:
        """Append a record. Return its length. The record is on the disk after the next `sync`."""
        begin = self.length
        for piece in pieces:
            self._unwritten.append(piece)
            self.length += len(piece)
            if self.length - self._written > MOST_UNWRITTEN:
                self._write()
        return self.length - begin

    def _write(self) -> None:
        data = b"".join(self._unwritten)
        self._unwritten.clear()
        self._file.write(data)
        self._written += len(data)

    def sync(self) -> None:
        """Return once all appended records are on the disk."""
        self._write()
        self._file.sync()

    def close(self) -> None:
        self._file.close()


def open_last_file(slot: Slot) -> OpenFile:
    """Continue the slot's last file that is not full, cut to its committed length, or begin a file.

    The run's lock is awaited, since the server may still be committing the last batch of a killed
    shift. Raises OSError, ArchiveTrouble, and BytesLost if there is a bucket.
    """
    with locked_run(slot.run_id):
        rows = list(
            ArchiveFile.objects.filter(
                run=slot.run_id, machine=slot.machine, slot=slot.number, sealed_at=None
            ).order_by("pk")
        )
    for row in rows:
        _check_bytes(row)
    for row in rows[:-1]:
        seal(row)
    return OpenFile(rows[-1]) if rows else open_next_file(slot)


def _check_bytes(row: ArchiveFile) -> None:
    size = local_storage().size(row.stored_name) or 0
    if has_bucket() and size < row.committed_length:
        raise BytesLost(row)


def open_next_file(slot: Slot) -> OpenFile:
    number = ArchiveFile.objects.filter(
        run=slot.run_id, machine=slot.machine, slot=slot.number
    ).count()
    name = f"run{slot.run_id}-{slot.machine}-{slot.number}-{number:05}.warc.gz"
    return OpenFile(
        ArchiveFile.objects.create(
            run_id=slot.run_id,
            name=name,
            namespace=new_namespace(),
            machine=slot.machine,
            slot=slot.number,
        )
    )


def seal(row: ArchiveFile) -> None:
    """Seal a file of this machine: cut off bytes that are not committed. With a bucket, upload the
    rest of it, and remove it from this machine.

    The caller holds its slot. Raises OSError.
    """
    own = local_storage()
    size = own.size(row.stored_name)
    if size is not None and not row.committed_length:
        own.delete(row.stored_name)
    elif size is not None and size > row.committed_length:
        own.cut(row.stored_name, row.committed_length)
    while has_bucket() and row.uploaded_length < row.committed_length:
        upload(row)
    ArchiveFile.objects.filter(pk=row.pk, committed_length=row.committed_length).update(
        sealed_at=Now()
    )
    if has_bucket():
        own.delete(row.stored_name)


def seal_as_uploaded(row: ArchiveFile) -> None:
    """Seal a file of which this machine needs nothing more: all of it is in the bucket."""
    ArchiveFile.objects.filter(pk=row.pk).update(sealed_at=Now())


def seal_all(run_id: int) -> None:
    """Seal the files of an ended run that are on this machine and that no process is writing."""
    rows = ArchiveFile.objects.filter(run=run_id, sealed_at=None).order_by("machine", "slot", "pk")
    for machine, number in dict.fromkeys(rows.values_list("machine", "slot")):
        with _lock_slot(run_id, machine, number) as is_held:
            if is_held:
                _seal_each(rows.filter(machine=machine, slot=number))


def _seal_each(rows: Iterable[ArchiveFile]) -> None:
    for row in rows:
        try:
            seal(row)
        # readers stop at the file's committed length, whether it is sealed or not
        except (OSError, ArchiveTrouble) as error:
            logger.warning(
                "an archive file could not be closed", extra={"file": row.name, "error": str(error)}
            )


@contextmanager
def _lock_slot(run_id: int, machine: str, number: int) -> Iterator[bool]:
    """Lock the slot until the block ends. Yield False if its files are not on this machine, or if
    another process has the lock.
    """
    path = archive_folder(f"run{run_id}") / f"{machine}-{number}{LOCK}"
    if not path.exists():
        yield False
        return
    lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        yield _is_locked(lock)
    finally:
        os.close(lock)


@contextmanager
def deletions_held() -> Iterator[None]:
    """Prevent the removal of archive files until the block ends, so that their bytes can be
    copied.
    """
    with session_lock("%s", [COPYING_LOCK], is_shared=True):
        yield


@transaction.atomic
def remove_abandoned() -> int:
    """Remove the files of deleted runs that are on this machine, then their rows. Return the number
    of files.

    Safe to repeat.

    While files are being copied, no file is removed; the scheduler tries again later.
    """
    abandoned = ArchiveFile.objects.filter(run=None)
    if not abandoned.exists():
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [COPYING_LOCK])
        if not cursor.fetchone()[0]:
            return 0
    # the rows are read under the lock, since a file that is being rewritten may have had a row
    # before
    return sum(_remove_file(row) for row in abandoned.all())


def _remove_file(row: ArchiveFile) -> bool:
    try:
        folder = row.folder
        if row.machine != this_machine() and _is_elsewhere(row):
            return False
        delete_stored(row)
        if not storage().list(folder):
            storage().delete_folder(folder)
    except (OSError, ArchiveTrouble) as error:  # the row stays, so the removal is tried again
        facts = {"file": row.name, "error": str(error)}
        logger.warning("a deleted run's file cannot be removed", extra=facts)
        return False
    row.delete()
    return True


def _is_elsewhere(row: ArchiveFile) -> bool:
    """Whether another machine has the file, or a part of it that is not uploaded."""
    if not has_bucket():
        return not storage().list(row.folder)
    return row.sealed_at is None if row.parts else storage().size(row.stored_name) is None
