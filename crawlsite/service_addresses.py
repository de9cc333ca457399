"""The addresses on which the embedded servers of a state directory listen. Pure: the result depends
on the path alone.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import quote

DATABASE = "crawlsite"
ROLE = "app"
#: the file that is written beside the data while the servers run, one `NAME=value` a line, for
#: shells and other programs
URLS_FILE = "urls.env"
VALKEY_SOCKET = "valkey.sock"
# A socket's path has room for 107 bytes on Linux and 103 on macOS, and the longest name here takes
# 17.
LONGEST_DIRECTORY_BYTES = 80


def sockets_dir(state_dir: Path) -> Path:
    """Return the directory of both sockets: inside the state directory, or under /tmp if that path
    is too long.
    """
    inside = state_dir / "run"
    if len(bytes(inside)) <= LONGEST_DIRECTORY_BYTES:
        return inside
    # the directory has the mode 0700, and its owner is checked
    return Path("/tmp") / f"crawlsite-{hashlib.sha256(bytes(state_dir)).hexdigest()[:16]}"  # noqa: S108


def database_url(state_dir: Path, *, database: str = DATABASE) -> str:
    """Return the database's address for libpq; the port is stated so that a PGPORT in the shell
    changes nothing.
    """
    return (
        f"postgresql://{ROLE}@/{database}?host={quote(str(sockets_dir(state_dir)), safe='')}&"
        "port=5432"
    )


def redis_url(state_dir: Path) -> str:
    """Return the address of Valkey's first database for redis-py."""
    return f"unix://{quote(str(sockets_dir(state_dir) / VALKEY_SOCKET))}?db=0"
