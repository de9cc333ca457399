"""Makes the directories inside the state directory, and outside it only a sockets directory under
/tmp. A lock file in the state directory names the process that holds it.
"""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

from crawlsite.service_addresses import sockets_dir
from crawlsite.services.account import Account
from crawlsite.services.stops import StartError


def make_private(path: Path, account: Account) -> Path:
    """Make `path` a directory that only `account` may enter, and make the account the owner of all
    its content.

    The owner changes if root moved the state directory to a place where another account runs the
    servers.
    """
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        if path.stat().st_uid != account.uid:
            for below in [path, *path.rglob("*")]:
                os.chown(below, account.uid, account.gid, follow_symlinks=False)
    except PermissionError as error:
        owner = path.stat().st_uid if path.exists() else path.parent.stat().st_uid
        raise StartError(
            f"{path} belongs to another user (uid {owner}): start as that user, or set "
            "STATE_DIR to a place of yours"
        ) from error
    return path


def make_sockets_dir(state_dir: Path, account: Account) -> Path:
    """Make the private directory of both sockets, and remove what dead servers have left there.

    Raises StartError if another account has made this directory under /tmp.
    """
    path = sockets_dir(state_dir)
    if path.parent == state_dir:
        make_private(path, account)
    else:
        _make_in_public_place(path, account)
    for left_over in path.iterdir():
        left_over.unlink()
    return path


def _make_in_public_place(path: Path, account: Account) -> None:
    try:
        path.mkdir(mode=0o700)
        os.chown(path, account.uid, account.gid)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid or found.st_mode & 0o077:
            raise StartError(
                f"{path} is not a private directory of uid {account.uid}: remove it, or set "
                "STATE_DIR to a shorter path"
            ) from None


def open_log(logs: Path, name: str, *, go_on: bool = False) -> int:
    """Return a file descriptor that appends to the log. Unless the log is continued (`go_on`), the
    earlier log becomes `NAME.log.1`.
    """
    logs.mkdir(exist_ok=True)
    path = logs / f"{name}.log"
    if path.exists() and not go_on:
        path.replace(logs / f"{name}.log.1")
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


class LockFile:
    """A lock by flock on `path`.

    Processes that inherit `fd` hold the lock too, so it shows whether the servers live, and not
    only the process that started them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = -1

    def acquire(self, note: str) -> bool:
        """Take the lock and write `note` into the file. Return False if another process holds the
        lock.
        """
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
        """The note of the holder. It is empty for a moment before the holder has written it."""
        return self.path.read_text()

    def release(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
