"""The one way in which structured data are asked: DuckDB over the files of a run's second reading,
read only, with limits of memory and time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from crawling.base.storage import pieces_of, storage
from crawling.datasets.parquet import ROW_GROUP, STRUCTURED, engine
from crawling.datasets.query import (
    limited,
    no_rows,
    rows_in_time,
    source_of,
    without_withdrawn,
)
from crawling.models import LinksPart, Page, Run

NOTHING = no_rows(STRUCTURED)
#: to write all rows of a run to a file
SECONDS_OF_A_FILE = 60.0


def query_structured(
    run: Run, query: str, values: Mapping[str, Any], *, page: Page | None = None
) -> list[tuple[Any, ...]]:
    """The rows of a query over the table `structured`. Raises LinkSearchTookTooLong.

    query: ours; what users send goes into `values`, whose names stand with a $ in it. page: only
    the part that has this page is read.
    """
    with _structured_of(run, page) as connection, limited(connection):
        return connection.execute(query, dict(values)).fetchall()


def each_structured(run: Run, query: str, values: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of a query over `structured`, read while they are taken. Raises
    LinkSearchTookTooLong if so many at a time take this long.
    """
    with _structured_of(run) as connection:
        yield from rows_in_time(connection, query, values)


def structured_parquet(
    run: Run, query: str, values: Mapping[str, Any]
) -> tuple[int, Iterator[bytes]]:
    """The rows of a query over `structured` as a Parquet file: its size, and its bytes.

    Raises LinkSearchTookTooLong.
    """
    folder = tempfile.TemporaryDirectory()
    try:
        path = Path(folder.name, "structured.parquet")
        with (
            _structured_of(run, writes=folder.name) as connection,
            limited(connection, SECONDS_OF_A_FILE),
        ):
            connection.execute(
                f"COPY ({query}) TO '{path}' "
                f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})",
                dict(values),
            )
        file = path.open("rb")
        return path.stat().st_size, pieces_of(file)
    finally:
        folder.cleanup()  # what is open stays readable


@contextmanager
def _structured_of(
    run: Run, page: Page | None = None, *, writes: str = ""
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the table `structured`, which has no rows of withdrawn pages."""
    parts = LinksPart.objects.filter(run=run, written_at__isnull=False)
    if page is not None:
        parts = parts.filter(pk=page.links_part or 0)
    names = [part.structured_name for part in parts.order_by("pk")]
    paths = [str(storage().path(name)) for name in names if storage().size(name) is not None]
    with engine(reads=paths, writes=writes) as connection:
        but = without_withdrawn(connection, [run])
        connection.execute(f"CREATE TEMP VIEW structured AS {source_of(paths, NOTHING)}{but}")
        yield connection
