"""Fetch `file:` URLs: regular files and directories below the directories that an administrator
allows, but never through a symbolic link.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from email.utils import formatdate
from urllib.parse import unquote_to_bytes

from crawling.web.document_stream import PIECE_BYTES, DocumentStream, new_spool
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.scheme_task import HEADERS, FetchTask, guessed_type, listing_page
from crawling.web.statuses import FetchStatus

#: file URLs have no port
DEFAULT_PORT = 0
#: open nothing but a name that is no link, and do not wait for the writer of a pipe
NO_LINK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def fetch(task: FetchTask) -> Fetched:
    """Read a file, or a directory as a page of links. Never raises for a missing or unreadable
    file.
    """
    started = time.monotonic()
    path = unquote_to_bytes(task.address.target.partition("?")[0])
    try:
        found = _document_of_path(task, path)
    except FileNotFoundError:
        found = Fetched(404, error="There is no such file.")
    # a link where none is allowed, no right to read, an impossible name
    except (OSError, ValueError) as error:
        found = Fetched(
            403, error=f"The file cannot be read ({getattr(error, 'strerror', None) or error})."
        )
    seconds = time.monotonic() - started
    return replace(found, seconds=seconds, http_status=max(0, found.status))


def _document_of_path(task: FetchTask, path: bytes) -> Fetched:
    place = split_allowed_path(path, task.directories)
    if place is None:
        return Fetched(FetchStatus.FILE_REFUSED, error=FetchStatus.FILE_REFUSED.sentence)
    descriptor = _open_without_links(*place)
    try:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            if not path.endswith(b"/"):
                return Fetched(301, {"Location": f"{task.address.url.partition('?')[0]}/"})
            return Fetched(200, HEADERS, listing_page(path, _entries_in_directory(descriptor)))
        if not stat.S_ISREG(about.st_mode):
            return Fetched(403, error="It is neither a file nor a directory.")
        return _read_file(task, descriptor, _file_headers(path, about))
    finally:
        os.close(descriptor)


def split_allowed_path(path: bytes, directories: Sequence[str]) -> tuple[bytes, list[bytes]] | None:
    """The allowed directory, and the names below it; None if the path is outside all of them.

    An escaped slash does not split a name.
    """
    parts = [part for part in path.split(b"/") if part]
    if b".." in parts or b"." in parts:
        return None
    for root in sorted(
        (os.fsencode(directory) for directory in directories), key=len, reverse=True
    ):
        length = len([part for part in root.split(b"/") if part])
        if b"/" + b"/".join(parts[:length]) == root:
            return root, parts[length:]
    return None


def _open_without_links(root: bytes, names: list[bytes]) -> int:
    """Open name after name, each in the directory opened before it. So a name that is replaced by a
    link meanwhile is not followed either.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for number, name in enumerate(names, 1):
        try:
            following = os.open(
                name, NO_LINK | (os.O_DIRECTORY if number < len(names) else 0), dir_fd=descriptor
            )
        finally:
            os.close(descriptor)
        descriptor = following
    return descriptor


def _entries_in_directory(descriptor: int) -> Iterator[tuple[bytes, bool]]:
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if not entry.is_symlink():
                yield os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)


def _file_headers(path: bytes, about: os.stat_result) -> dict[str, str]:
    changed = formatdate(about.st_mtime, usegmt=True)
    return {"Last-Modified": changed, "Content-Type": guessed_type(os.fsdecode(path))}


def _read_file(task: FetchTask, descriptor: int, headers: dict[str, str]) -> Fetched:
    file, total = new_spool(), 0
    with ExitStack() as faulty:
        faulty.callback(file.close)
        while piece := os.read(descriptor, PIECE_BYTES):
            file.write(piece)
            total += len(piece)
            task.received(len(piece))
            if total > task.max_bytes:
                return Fetched(FetchStatus.TOO_BIG, headers, error=FetchStatus.TOO_BIG.sentence)
        faulty.pop_all()
    return Fetched(200, headers, DocumentStream(file, total))
