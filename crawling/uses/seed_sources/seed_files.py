"""The files of a watched folder. They are read once they are complete, and then moved to another
folder.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from crawling.base.errors import CrawlError
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.json_feed import BadFeed, json_entry_urls


class SeedsUnreadable(CrawlError):
    """The source cannot be read now; it is read again at its next turn."""


#: the name of the folder for files that were read; sentences about refused addresses of a file are
#: beside it
READ = "read"
REFUSED_SUFFIX = ".refused.txt"
#: the number of bytes at the end of a file's name that are kept in its new name
LONGEST_KEPT = 200
SUFFIXES = (".txt", ".json")
MOST_BYTES = 4 * 1024 * 1024
#: the time after a change during which a file may still be written
QUIET_SECONDS = 2.0
#: a base with which relative addresses in a file become URLs that no crawl fetches
NO_BASE = "file:///"
#: the most files that are read at once
MOST_FILES = 1_000


@dataclass(frozen=True)
class SeedFile:
    path: Path

    @property
    def name(self) -> str:
        """The name as it can be shown, with question marks in place of bytes that are not UTF-8."""
        return self.path.name.encode(errors="replace").decode()

    def addresses(self) -> list[str]:
        """The lines of a .txt file, except blank lines and lines that begin with #, or the entries
        of a JSON Feed in a .json file. Raises BadFeed.
        """
        body = _read_file(self.path)
        if self.path.suffix.lower() == ".json":
            return json_entry_urls(
                DocumentSource(DocumentStream.of(body), NO_BASE, "application/feed+json")
            )
        lines = (line.strip() for line in body.decode("utf-8-sig", "replace").splitlines())
        return [line for line in lines if line and not line.startswith("#")]


def waiting_files(folder: Path) -> list[SeedFile]:
    """Complete files, the oldest first. Hidden files, and files that were just changed, are left
    out.

    Raises SeedsUnreadable.
    """
    try:
        entries_there = list(os.scandir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SeedsUnreadable(f"The folder cannot be read: {error.strerror}.") from error
    quiet_since = time.time() - QUIET_SECONDS
    found = sorted(
        (entry.stat(follow_symlinks=False).st_mtime, entry.name)
        for entry in entries_there
        if entry.name.lower().endswith(SUFFIXES)
        and not entry.name.startswith(".")
        and entry.is_file(follow_symlinks=False)
    )
    names = [name for changed_at, name in found if changed_at <= quiet_since]
    return [SeedFile(folder / name) for name in names[:MOST_FILES]]


def move_to_read(file: SeedFile, refused: Sequence[str]) -> None:
    """Move a file that was read into the folder `read`, with the time in its new name, and store
    the refusals.

    Raises SeedsUnreadable.
    """
    folder = file.path.parent / READ
    # a name may have at most 255 bytes, and the new name is longer
    end = file.name.encode()[-LONGEST_KEPT:].decode(errors="ignore")
    kept = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{end}"
    try:
        folder.mkdir(exist_ok=True)
        if refused:
            kept.with_name(f"{kept.name}{REFUSED_SUFFIX}").write_text(
                "".join(f"{sentence}\n" for sentence in refused), encoding="utf-8"
            )
        file.path.rename(kept)
    except OSError as error:
        raise SeedsUnreadable(
            f"{file.name} was read, but cannot be moved to {READ}: {error.strerror}."
        ) from error


def _read_file(path: Path) -> bytes:
    """Raises BadFeed."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadFeed("it is no plain file")
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadFeed(f"it cannot be read: {error.strerror}") from error
    if len(body) > MOST_BYTES:
        raise BadFeed(f"it is larger than {MOST_BYTES // 2**20} MB; split it")
    return body
