"""The only way to query texts and structured data: DuckDB over the files of a run's second reading,
read only, with limits of memory and time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

import duckdb

from crawling.base.storage import pieces_of, storage
from crawling.datasets.parquet import (
    ROW_GROUP,
    STRUCTURED,
    TEXTS,
    duckdb_connection,
    metadata_option,
)
from crawling.datasets.query import (
    ROWS,
    empty_query,
    rows_query,
    rows_within_limit,
    time_limited,
    withdrawn_page_condition,
)
from crawling.models import LinksPart, Page, Run

#: the file of each table beside a part, and the query without any file
TABLES = {
    "structured": (attrgetter("structured_name"), empty_query(STRUCTURED)),
    "texts": (attrgetter("texts_name"), empty_query(TEXTS)),
}
#: the time limit for writing all rows of a run to a file
SECONDS_OF_A_FILE = 60.0


def query_reading(
    run: Run, query: str, values: Mapping[str, Any], *, page: Page | None = None
) -> list[tuple[Any, ...]]:
    """The rows of a query over the tables `structured` and `texts`. Raises LinkSearchTookTooLong.

    query: contains no input of users. Their input goes into `values`, to which the query refers as
    $name. page: restricts the query to the part that has this page.
    """
    part = None if page is None else page.links_part or 0
    with _reading_connection(run, part) as connection, time_limited(connection):
        return connection.execute(query, dict(values)).fetchall()


def stream_reading_rows(
    run: Run,
    query: str,
    values: Mapping[str, Any],
    *,
    part: LinksPart | None = None,
    at_a_time: int = ROWS,
) -> Iterator[tuple[Any, ...]]:
    """The rows of a query as in `query_reading`, read while they are taken. Raises
    LinkSearchTookTooLong as soon as `at_a_time` rows take too long.

    part: restricts the query to this part.
    """
    with _reading_connection(run, part.pk if part else None) as connection:
        yield from rows_within_limit(connection, query, values, at_a_time=at_a_time)


def reading_parquet(
    run: Run, query: str, values: Mapping[str, Any], facts: Mapping[str, object]
) -> tuple[int, Iterator[bytes]]:
    """The rows of a query as in `query_reading`, as a Parquet file: its size, and its bytes. facts:
    metadata of the file.

    Raises LinkSearchTookTooLong.
    """
    folder = tempfile.TemporaryDirectory()
    try:
        path = Path(folder.name, "rows.parquet")
        with (
            _reading_connection(run, writes=folder.name) as connection,
            time_limited(connection, SECONDS_OF_A_FILE),
        ):
            connection.execute(
                f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd, "
                f"ROW_GROUP_SIZE {ROW_GROUP}{metadata_option(facts)})",
                dict(values),
            )
        file = path.open("rb")
        return path.stat().st_size, pieces_of(file)
    finally:
        folder.cleanup()  # an open file can be read after its removal


def reading_bytes(run: Run, table: str, columns: Sequence[str]) -> int:
    """The uncompressed size of these columns of a table in bytes, by the metadata of its files."""
    paths = _table_files(run)[table]
    if not paths:
        return 0
    query = "SELECT total_uncompressed_size, path_in_schema FROM parquet_metadata($paths)"
    with duckdb_connection(reads=paths) as connection, time_limited(connection):
        sizes = connection.execute(query, {"paths": paths}).fetchall()
    return sum(size * columns.count(column) for size, column in sizes)


@contextmanager
def _reading_connection(
    run: Run, part: int | None = None, *, writes: str = ""
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the tables, without rows of withdrawn pages. part: the id of the only part
    to read.
    """
    paths = _table_files(run, part)
    with duckdb_connection(
        reads=[path for found in paths.values() for path in found], writes=writes
    ) as opened:
        but = withdrawn_page_condition(opened, [run])
        for table, (_, nothing) in TABLES.items():
            rows = rows_query(paths[table], nothing)
            opened.execute(f"CREATE TEMP VIEW {table} AS {rows}{but}")
        yield opened


def _table_files(run: Run, part: int | None = None) -> dict[str, list[str]]:
    """The files of each table that are on this machine."""
    parts = LinksPart.objects.filter(run=run, written_at__isnull=False)
    if part is not None:
        parts = parts.filter(pk=part)
    stored = list(parts.order_by("pk"))
    return {
        table: [
            str(storage().path(name))
            for name in map(file, stored)
            if storage().size(name) is not None
        ]
        for table, (file, _) in TABLES.items()
    }
