"""The working shifts of this machine. Each has a file that its process locks as long as it lives.
The kernel releases the lock when the process ends in any way. So if a shift's process and worker
are both killed, the next worker of the machine finds the shift within seconds; other machines
detect it only when its lease has expired. A live worker closes the shift of its killed process
itself, since it alone knows which URL was the cause. Therefore the file also names the worker's
process.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from django.conf import settings

logger = logging.getLogger(__name__)

#: two start times with a smaller difference are equal, since a correction of the clock may change
#: them
SAME_START_SECONDS = 1.0


class DeadShift(NamedTuple):
    """A shift whose process has ended without removing its file."""

    process_id: int
    epoch: int
    worker: str


@contextmanager
def hold_shift_lock(process_id: int, epoch: int, worker: str) -> Iterator[None]:
    """Hold, until the block ends, the lock that shows that this process works on a shift. A shift
    that ends by an exception, such as the death of PostgreSQL, may remain open, and is then found
    as abandoned. If no file can be written, only the lease shows the shift. The worker is the
    parent of this process.
    """
    path = _lock_folder() / f"{process_id}-{epoch}"
    try:
        file = _locked_file(path, worker)
    except OSError as error:
        logger.warning(
            "no file tells that this work session is running here",
            extra={"path": str(path), "error": str(error)},
        )
        yield
        return
    try:
        yield
        path.unlink(missing_ok=True)
    finally:
        os.close(file)


def abandoned_shifts(but: str = "") -> Iterator[DeadShift]:
    """Yield the shifts without a live process whose worker has ended or is the caller. Shifts of
    the worker `but` are left out.

    Each file is removed once the caller takes the next shift.
    """
    for path in sorted(_lock_folder().glob("[0-9]*-*")):
        with suppress(FileNotFoundError, BlockingIOError):
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file).st_nlink:  # no other process has deleted it meanwhile
                    process_id, _, epoch = path.name.partition("-")
                    worker, *process = os.read(file, 1000).decode().split("\n")
                    if worker != but and not _is_of_other_process(process):
                        yield DeadShift(int(process_id), int(epoch), worker)
                        path.unlink(missing_ok=True)
            finally:
                os.close(file)


def _is_of_other_process(process: list[str]) -> bool:
    """Whether a worker other than the caller lives and will close the shift."""
    if not process or int(process[0]) == os.getpid():
        return False
    pid, started = process
    try:
        found = psutil.Process(int(pid))
        return (
            abs(found.create_time() - float(started)) < SAME_START_SECONDS
            and found.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.NoSuchProcess:
        return False


def _locked_file(path: Path, worker: str) -> int:
    """Create the file and lock it. The file is renamed after it is locked, so other processes never
    see it unlocked while its process lives.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"new-{os.getpid()}")
    file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    os.write(file, "\n".join([worker, *_parent_process()]).encode())
    fresh.rename(path)
    return file


def _parent_process() -> list[str]:
    """The number and the start time of the parent process; empty if it has just been killed."""
    pid = os.getppid()
    try:
        return [str(pid), str(psutil.Process(pid).create_time())]
    except psutil.NoSuchProcess:
        return []


def _lock_folder() -> Path:
    return Path(settings.STATE_DIR) / "shifts"
