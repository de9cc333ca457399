"""Files that only the service's account and its group can read. The umask restricts new files; the
permissions of files of earlier versions are changed.
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
#: the most entries that a start examines; deeper ones are closed by the directories above them
MOST_ENTRIES = 50_000


def keep_private() -> None:
    """Keep new files private in this process and its children. A stricter umask is kept."""
    os.umask(os.umask(UMASK) | UMASK)


def deny_others(places: Iterable[Path], *, most: int = MOST_ENTRIES) -> None:
    """Remove other accounts' permissions on directories and their contents.

    The outer directories are closed first, so that no file can be reached after the first moment. A
    directory that is already closed is skipped, unless it is one of `places`. A place of another
    account is unchanged (`places_open_to_others` reports it).
    """
    waiting = deque(place for place in places if place.is_dir())
    for place in waiting:
        _deny_entry(place)
    for entry in islice(_entries_below(waiting), most):
        if entry.is_symlink():
            continue
        if _deny_entry(entry) and entry.is_dir(follow_symlinks=False):
            waiting.append(Path(entry.path))


def places_open_to_others(places: Iterable[Path]) -> list[Path]:
    """The places that other accounts can enter, by the permissions of all directories above."""
    return [place for place in places if place.exists() and _is_reachable(place)]


def _is_reachable(place: Path) -> bool:
    return all(path.stat().st_mode & stat.S_IXOTH for path in (place, *place.resolve().parents))


def _entries_below(waiting: deque[Path]) -> Iterator[os.DirEntry[str]]:
    while waiting:
        try:
            with os.scandir(waiting.popleft()) as found:
                yield from found
        except OSError:  # deleted meanwhile, or of another account
            continue


def _deny_entry(path: Path | os.DirEntry[str]) -> bool:
    """Close an entry. Return whether its permissions were changed; False also if it was deleted
    meanwhile or belongs to another account.
    """
    try:
        mode = os.stat(path).st_mode
        if not mode & OTHERS:
            return False
        os.chmod(path, stat.S_IMODE(mode) & ~OTHERS)
    except OSError:
        return False
    return True
