"""The folders of browser processes: profiles, notes of processes, temporary files.

They are in the system's folder for temporary files, since a browser that root has started runs as a
user that may not reach the product's folders. Each is locked by the processes that use it; what is
not locked was left by processes that were killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "crawlsite-browser-"


def make_folder() -> tuple[Path, int]:
    """A new folder and the descriptor that holds its lock, which a program may inherit. Removes
    folders that were left. Raises OSError.
    """
    _remove_abandoned()
    path = Path(tempfile.mkdtemp(prefix=PREFIX))
    path.chmod(0o711)  # a user without rights gets a folder of its own in it
    held_by = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    # between the two calls it may have been taken for abandoned; then nothing can start in it
    fcntl.flock(held_by, fcntl.LOCK_SH)
    return path, held_by


def _remove_abandoned() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # of another user, at work, or gone meanwhile
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file).st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(file)
