"""The steps in which a link graph is computed. Each writes a file, and reads files of earlier
steps.

A file exists completely or not at all. So after any end of a job the next one continues behind the
last step whose file exists.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import pieces_of, storage
from crawling.datasets.job_tables import JobTables
from crawling.datasets.parquet import put_query
from crawling.datasets.query import rows_query

logger = logging.getLogger(__name__)

NOTHING: Mapping[str, np.ndarray] = {"nothing": np.empty(0, np.int64)}


@dataclass(frozen=True)
class Step:
    #: the file that the step writes at its end
    file: str
    work: Callable[[], object]

    @property
    def is_done(self) -> bool:
        return storage().size(self.file) is not None


def arrays_step(
    graph: JobTables, name: str, arrays: Callable[[], Mapping[str, np.ndarray]]
) -> Step:
    """A step that writes arrays for later steps. They are read by `read_arrays`."""
    file = _arrays_file(graph, name)
    return Step(file, lambda: _put_arrays(file, arrays()))


def read_arrays(graph: JobTables, name: str) -> dict[str, np.ndarray]:
    """Raises OSError."""
    with storage().open(_arrays_file(graph, name)) as file, np.load(file) as arrays:
        return dict(arrays)


def slice_file(graph: JobTables, table: str, number: int) -> str:
    return graph.file(f"{table}-{number:05}")


def merge_step(graph: JobTables, table: str, slices: int) -> Step:
    """A step that joins files, each with some of the rows, into a table."""
    file = graph.file(table)
    paths = [str(storage().path(slice_file(graph, table, number))) for number in range(slices)]
    return Step(file, lambda: put_query(file, rows_query(paths, "0"), NOTHING, reads=paths))


def delete_array_files(graph: JobTables) -> None:
    """Delete the arrays that later steps needed. The tables stay."""
    folder, _, own = graph.job.name.partition("/")
    tables = {graph.file(table).partition("/")[2] for table in graph.of.tables}
    try:
        for file in storage().list(folder):
            if file.startswith(f"{own}.") and file not in tables:
                storage().delete(f"{folder}/{file}")
    except (OSError, ArchiveTrouble) as error:  # the files are deleted together with the graph
        facts = {"graph": graph.job.name, "error": str(error)}
        logger.warning("what a link graph does not need any more is kept", extra=facts)


def _arrays_file(graph: JobTables, name: str) -> str:
    return graph.job.file(f"{name}.npz")


def _put_arrays(file: str, arrays: Mapping[str, Any]) -> None:
    written = io.BytesIO()
    np.savez(written, **arrays)
    written.seek(0)
    storage().put(file, pieces_of(written))
