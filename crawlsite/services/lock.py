"""A lock file that names its holder; the kernel lets it go when the last process that holds it
ends.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class LockFile:
    """flock on `path`.

    Processes that inherit `fd` hold it too, so it shows whether the servers live, and not only
    their starter.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = -1

    def acquire(self, note: str) -> bool:
        """Take the lock and write `note` into the file, or return False if another holds it."""
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        os.ftruncate(fd, 0)
        os.write(fd, note.encode())
        self.fd = fd
        return True

    def note(self) -> str:
        """What the holder wrote; empty in the moment before it has."""
        return self.path.read_text()

    def release(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
