"""The account that the servers run as.

PostgreSQL refuses to run as root, and no permission is ever loosened for that.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import stat
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawlsite.services.stops import StartError

CLONE_NEWUSER = 0x10000000
NOBODY = 65534
#: the mode of a state directory, whose group is that of the servers
ENTER = 0o710
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Account:
    """The owner of the servers' files and processes."""

    uid: int
    gid: int
    switch: bool = False
    #: the processes are root's to the rest of the system, but in their own user namespace they are
    #: `nobody`, without any capability: for a state directory or a .venv that only root can enter
    mapped: bool = False

    def popen_arguments(self) -> dict[str, Any]:
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}

    @property
    def before_exec(self) -> Callable[[], None] | None:
        return _become_nobody if self.mapped else None


def choose_account(state_dir: Path, programs: list[Path]) -> Account:
    """Return the caller's own account or, for root, one that may enter `state_dir` and run
    `programs`.

    Raises StartError if root has no such account and the kernel offers no user namespaces.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        candidate = Account(entry.pw_uid, entry.pw_gid, switch=True)
        if _is_roots_alone(state_dir) and _can_enter(candidate, [state_dir.parent, *programs]):
            os.chown(state_dir, -1, candidate.gid)
            state_dir.chmod(ENTER)
        if _can_enter(candidate, [state_dir, *programs]):
            return candidate
    mapped = Account(0, 0, mapped=True)
    if _can_enter(mapped, [state_dir, *programs]):
        return mapped
    raise StartError(
        f"PostgreSQL refuses to run as root, and no other account can enter {state_dir} or "
        f"{programs[0].parent}. "
        "Start crawlsite as an ordinary user, or put the project and STATE_DIR where others may "
        "enter, like /var/lib/crawlsite."
    )


def _is_roots_alone(state_dir: Path) -> bool:
    """Whether the directory has permissions as we make them, and not permissions that an
    administrator has set: then the account of the servers may enter it, by its group, and no other
    account.
    """
    if not state_dir.exists():
        return False
    found = state_dir.stat()
    return (found.st_uid, found.st_gid) == (0, 0) and bool(found.st_mode & stat.S_IXGRP)


def _can_enter(account: Account, paths: list[Path]) -> bool:
    """Whether the account can enter the directories, by the kernel's answer to the account itself:
    modes do not show access lists and read-only mounts.
    """
    script = 'for path; do test -x "$path" || exit 1; done'
    try:
        answer = subprocess.run(  # noqa: S603 - fixed script
            ["/bin/sh", "-c", script, "sh", *map(str, paths)],
            cwd="/",
            preexec_fn=account.before_exec,
            **account.popen_arguments(),
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return answer.returncode == 0


def _become_nobody() -> None:
    """Give up root's rights; this runs in the child between fork and exec."""
    uid, gid = os.geteuid(), os.getegid()
    if _libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {uid} 1"),
        ("gid_map", f"{NOBODY} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)
