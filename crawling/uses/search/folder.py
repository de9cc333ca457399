"""The folder of this machine's index. It is opened, written by one process at a time, and emptied
if its files cannot be read.
"""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

import tantivy

from crawling.base.errors import CrawlError, IndexBroken
from crawling.base.storage import LOCK, storage
from crawling.datasets.parts import parts_here
from crawling.datasets.progress import note_parts_unindexed
from crawling.uses.search.file_checks import (
    META,
    FileStamp,
    check_file,
    check_segments,
    faults_as_damage,
    files_of,
    segment_sizes,
    stamp_of,
)
from crawling.uses.search.schema import new_schema, register_analyzers, register_writing_analyzers

logger = logging.getLogger(__name__)

#: the folder's name; an index with other fields, or with another form of words, is made anew in a
#: folder with another name
FOLDER = "search-2"
#: the folders of earlier versions, which are removed
FORMER_FOLDERS = ("search-1",)
#: the lock file in the folder; it outlasts the index's own files
LOCK_NAME = f"writer{LOCK}"
#: the most attempts to open the index; after a commit of another process a further attempt is
#: needed
MOST_OPENINGS = 5


class IndexBusy(CrawlError):
    """Another process writes the search index; try again in a moment."""


def index_folder() -> Path:
    return storage().workspace(FOLDER)


@dataclass
class FileChecks:
    """The files of an open index, with their stamps when their checksums were verified."""

    stamps: dict[Path, FileStamp | None] = field(default_factory=dict)

    def are_as_they_were(self) -> bool:
        return all(stamp_of(file) == stamp for file, stamp in self.stamps.items())


def open_index(checked: FileChecks | None = None) -> tantivy.Index | None:
    """The index as last committed. None if this machine has none yet.

    Each of its files is read and checked, except unchanged files in `checked`. Afterwards `checked`
    has the files of this index. Raises IndexBroken.
    """
    for _ in range(MOST_OPENINGS):
        before = stamp_of(index_folder() / META)
        try:
            with faults_as_damage():
                return _open_checked_index(index_folder(), checked or FileChecks())
        except IndexBroken as damage:
            # a commit in the meantime removes files that were listed before
            if stamp_of(index_folder() / META) == before:
                raise
            cause = damage
    raise cause


def _open_checked_index(folder: Path, checked: FileChecks) -> tantivy.Index | None:
    """Open the index. Raises the errors that `faults_as_damage` turns into IndexBroken."""
    if not tantivy.Index.exists(str(folder)):
        if parts_here().filter(indexed_at__isnull=False).exists():
            raise FileNotFoundError(f"{folder} has no index, but parts were added to it")
        checked.stamps = {}
        return None
    stamps = {folder / META: stamp_of(folder / META)}
    segments = segment_sizes(folder)
    for file in files_of(folder, segments):
        stamps[file] = stamp_of(file)
        if checked.stamps.get(file) != stamps[file]:
            check_file(file)
    index = register_analyzers(tantivy.Index.open(str(folder)))
    index.config_reader("manual")
    index.reload()
    check_segments(index, segments)
    checked.stamps = stamps
    return index


@contextmanager
def index_to_write() -> Iterator[tantivy.Index]:
    """Yield the index, which no other process writes meanwhile. If it does not exist or is damaged,
    a new one is made, and all parts count as not added. Raises IndexBusy or OSError.
    """
    with (index_folder() / LOCK_NAME).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise IndexBusy from error
        yield register_writing_analyzers(_usable_index())


def _usable_index() -> tantivy.Index:
    try:
        if (index := open_index()) is not None:
            return index
    except IndexBroken as damage:
        logger.warning("the search index is made anew", extra={"why": str(damage.__cause__)})
    for name in FORMER_FOLDERS:
        rmtree(index_folder().parent / name, ignore_errors=True)
    # before the index exists: otherwise parts would count as added to an index that a killed
    # process has just made
    note_parts_unindexed(parts_here())
    for file in index_folder().iterdir():
        if file.name != LOCK_NAME:
            file.unlink()
    return tantivy.Index(new_schema(), str(index_folder()))
