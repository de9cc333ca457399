"""Work folders of jobs. They are folders of STATE_DIR, each locked by its process.

The kernel releases a lock when all processes that hold it have ended in any way. Then any process
of the machine removes the folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from django.conf import settings


@dataclass(frozen=True)
class WorkFolder:
    path: Path
    #: the file descriptor that holds the lock; a program that inherits it holds the folder, too
    held_by: int


@contextmanager
def work_folder() -> Iterator[WorkFolder]:
    """A new folder, which is removed after the block. Raises OSError."""
    _jobs_folder().mkdir(parents=True, exist_ok=True)
    folder = _held_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder.path, ignore_errors=True)
        os.close(folder.held_by)


def remove_abandoned_folders() -> None:
    """Remove the folders of jobs that were killed on this machine."""
    folders = sorted(_jobs_folder().iterdir()) if _jobs_folder().is_dir() else []
    for path in folders:
        with suppress(FileNotFoundError, BlockingIOError):
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(file)


def _held_folder() -> WorkFolder:
    """A new folder. It is locked before `remove_abandoned_folders` could remove it as abandoned."""
    while True:
        path = _jobs_folder() / uuid4().hex
        path.mkdir(mode=0o700)
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(file, fcntl.LOCK_EX)
        if path.exists():
            return WorkFolder(path, file)
        os.close(file)


def _jobs_folder() -> Path:
    return Path(settings.STATE_DIR) / "jobs-at-work"
