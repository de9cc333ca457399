"""The folder of this machine's index: opened, written by one process at a time, and emptied if its
files cannot be read.
"""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tantivy

from crawling.errors import CrawlError, IndexBroken
from crawling.links.progress import own_parts, parts_unindexed
from crawling.search.schema import new_schema, with_analyzers
from crawling.storage import LOCK, storage

logger = logging.getLogger(__name__)

#: its name; an index with other fields gets another and is made anew
FOLDER = "search-1"
#: in the folder; it outlasts the index's own files
LOCK_NAME = f"writer{LOCK}"


class IndexBusy(CrawlError):
    """Another process writes the search index; try again in a moment."""


def index_folder() -> Path:
    return storage().workspace(FOLDER)


def open_index() -> tantivy.Index | None:
    """The index as it was committed last; None: this machine has none yet.

    Each of its files is opened, and tells whether it was cut. Raises IndexBroken.
    """
    try:
        folder = str(index_folder())
        if not tantivy.Index.exists(folder):
            if own_parts().filter(indexed_at__isnull=False).exists():
                raise FileNotFoundError(f"{folder} has no index, but parts were added to it")
            return None
        index = with_analyzers(tantivy.Index.open(folder))
        index.config_reader("manual")
        index.reload()
    except (OSError, ValueError) as error:  # tantivy's own errors are ValueErrors
        raise IndexBroken from error
    return index


@contextmanager
def index_to_write() -> Iterator[tantivy.Index]:
    """The index, for one process alone. If there is none, or it is damaged, it is a new one, and
    all parts count as not added. Raises IndexBusy, OSError.
    """
    with (index_folder() / LOCK_NAME).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise IndexBusy from error
        yield _usable_index()


def _usable_index() -> tantivy.Index:
    try:
        if (index := open_index()) is not None:
            return index
    except IndexBroken as damage:
        logger.warning("the search index is made anew", extra={"why": str(damage.__cause__)})
    # first: parts must not count as added to an index that a killed process has just made
    parts_unindexed(own_parts())
    for file in index_folder().iterdir():
        if file.name != LOCK_NAME:
            file.unlink()
    return with_analyzers(tantivy.Index(new_schema(), str(index_folder())))
