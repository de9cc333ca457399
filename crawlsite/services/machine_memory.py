"""How much memory the processes of this installation may have together: the machine's, or less
where a container or a service manager limits it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

#: the control groups of this process, and where the kernel shows their limits
GROUPS, LIMITS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def usable_bytes(*, groups: Path = GROUPS, limits: Path = LIMITS) -> int:
    """The least of the machine's memory and the limits of this process's control groups, and of the
    groups around them (cgroups(7), versions 1 and 2).
    """
    return min([psutil.virtual_memory().total, *_limits(groups, limits)])


def _limits(groups: Path, limits: Path) -> Iterator[int]:
    for line in groups.read_text().splitlines() if groups.exists() else ():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _around(limits, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _around(limits / "memory", path, "memory.limit_in_bytes")


def _around(root: Path, path: str, name: str) -> Iterator[int]:
    """The values of a group and of those around it; in a container the paths may be the machine's,
    of which it sees the root only.
    """
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        with suppress(OSError, ValueError):  # there is no such group, or it says `max`
            yield int((folder / name).read_text())
        if folder == root:
            return
