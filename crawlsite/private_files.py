"""Files that only the service's account, and its group, can read: what is made from now on, by the
umask, and what an earlier version made.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

#: the permissions that new files and directories never have
UMASK = 0o027
#: the permissions of other accounts of the machine
OTHERS = stat.S_IRWXO
#: entries that one start looks at: what lies deeper is closed by the directories above it
MOST_ENTRIES = 50_000


def keep_private() -> None:
    """Keep new files private in this process and its children; a stricter umask stays."""
    os.umask(os.umask(UMASK) | UMASK)


def close_to_others(places: Iterable[Path], *, most: int = MOST_ENTRIES) -> None:
    """Remove other accounts' permissions on directories and everything in them.

    The outer directories are closed first: so no file can be reached after the first moment. One
    that was closed before is not looked into, but for the places themselves. A place of another
    account stays (`open_to_others` tells).
    """
    waiting = deque(place for place in places if place.is_dir())
    for place in waiting:
        _close(place)
    for entry in islice(_entries(waiting), most):
        if entry.is_symlink():
            continue
        if _close(entry) and entry.is_dir(follow_symlinks=False):
            waiting.append(Path(entry.path))


def open_to_others(places: Iterable[Path]) -> list[Path]:
    """The places that other accounts can enter, by the permissions of all directories above."""
    return [place for place in places if place.exists() and _is_reachable(place)]


def _is_reachable(place: Path) -> bool:
    return all(path.stat().st_mode & stat.S_IXOTH for path in (place, *place.resolve().parents))


def _entries(waiting: deque[Path]) -> Iterator[os.DirEntry[str]]:
    while waiting:
        try:
            with os.scandir(waiting.popleft()) as found:
                yield from found
        except OSError:  # deleted meanwhile, or another account's
            continue


def _close(path: Path | os.DirEntry[str]) -> bool:
    """Whether it was open and is closed now; not if it was deleted meanwhile, or is another
    account's.
    """
    try:
        mode = os.stat(path).st_mode
        if not mode & OTHERS:
            return False
        os.chmod(path, stat.S_IMODE(mode) & ~OTHERS)
    except OSError:
        return False
    return True
