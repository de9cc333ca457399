"""The open index of a searching process, which follows the commits of other processes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tantivy

from crawling.base.errors import IndexBroken
from crawling.uses.search.file_checks import faults_as_damage
from crawling.uses.search.folder import FileChecks, index_folder, open_index
from crawling.uses.search.jobs import request_repair
from crawling.uses.search.schema import OTHER
from crawling.web.words import STEMMERS

logger = logging.getLogger(__name__)

#: the most values of a field that are counted
MOST_VALUES = 60_000


@dataclass(frozen=True)
class IndexView:
    schema: tantivy.Schema
    searcher: tantivy.Searcher
    #: the ids of the runs of which it has pages
    runs: frozenset[int]
    #: the languages whose fields are not empty
    languages: Sequence[str]


class OpenIndex:
    """The open index, shared by the threads of a process. A look at a changed index takes
    milliseconds, and 0.4 s for each unchecked gigabyte; a look at an unchanged index takes almost
    no time.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._folder: Path | None = None
        self._files = FileChecks()
        self._view: IndexView | None = None

    def look(self) -> IndexView | None:
        """The index. None if this machine has none. Raises IndexBroken if a background job has to
        repair it.
        """
        with self._lock, self._reopen_if_broken():
            folder = index_folder()
            if self._view is None or folder != self._folder or not self._files.are_as_they_were():
                with faults_as_damage():
                    self._view = _index_view(self._files)
                self._folder = folder
            return self._view

    @contextmanager
    def read_index(self) -> Iterator[None]:
        """Let the block read the index that `look` returned. An error about the index's files
        becomes IndexBroken, and the next `look` opens the index again.
        """
        with self._reopen_if_broken(), faults_as_damage():
            yield

    @contextmanager
    def _reopen_if_broken(self) -> Iterator[None]:
        try:
            yield
        except IndexBroken:
            with self._lock:
                self._files, self._view = FileChecks(), None
            request_repair()
            raise


def _index_view(files: FileChecks) -> IndexView | None:
    index = open_index(files)
    if index is None:
        return None
    searcher, everything = index.searcher(), tantivy.Query.all_query()
    runs = facet_counts(searcher, everything, {"run": MOST_VALUES})["run"]
    codes = facet_counts(searcher, everything, {"language": MOST_VALUES})["language"]
    languages = {code if code in STEMMERS else OTHER for code, _ in codes}
    return IndexView(
        index.schema, searcher, frozenset(int(run) for run, _ in runs), tuple(sorted(languages))
    )


def facet_counts(
    searcher: tantivy.Searcher, query: tantivy.Query, most: Mapping[str, int]
) -> dict[str, list[tuple[Any, int]]]:
    """For each field, its values with the number of found documents that have them, the most common
    values first. most: the most values by field.
    """
    asked = {name: {"terms": {"field": name, "size": size}} for name, size in most.items()}
    told = searcher.aggregate(query, asked)
    return {
        name: [(bucket["key"], bucket["doc_count"]) for bucket in told[name]["buckets"]]
        for name in most
    }


OPEN_INDEX = OpenIndex()
