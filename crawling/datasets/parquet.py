"""The dataset's files. DuckDB writes and reads them, in memory and on one thread. It can read and
write files of one directory only, and loads no extension.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from crawling.base.storage import pieces_of, storage
from crawling.datasets.collected_pages import LinkRow

#: enough for a part of some hundred thousand rows, and for a query of many parts
MEMORY = "192MB"
#: the columns of a link. Among them are the page's id and address, the link's number on the page
#: (in the document's order among elements of the same name), and the fingerprint of its target,
#: since a search by fingerprint is much faster than one by address
COLUMNS = (
    "page_id",
    "page",
    "position",
    "target",
    "fragment",
    "element",
    "attribute",
    "rel",
    "anchor",
    "place",
    "target_fingerprint",
)
#: the columns of a finding of a second reading: the page's id and fingerprint, the finding's kind
#: and text, the number of such findings, and the line of the first
FINDINGS = ("page_id", "fingerprint", "tells", "text", "count", "line")
#: the columns of a page's text: the page's id and address, its type without parameters, the time of
#: the fetch in seconds, the code of its language, and the text in the parts of
#: `crawling.web.documents.html_text`
TEXTS = (
    "page_id",
    "page",
    "content_type",
    "fetched_at",
    "language",
    "title",
    "headings",
    "text",
    "around",
)
#: the columns of the structured data of a page: its id and address, the number of the row on the
#: page, and the fields of `crawling.web.documents.structured_data.DataRow`
STRUCTURED = (
    *("page_id", "page", "position", "kind", "type", "name", "value"),
    *("width", "height", "is_cut"),
)
NUMBERS = (
    *("page_id", "position", "target_fingerprint", "fingerprint", "count", "line"),
    *("fetched_at", "width", "height", "is_cut"),
)
#: rows about places of the same page are adjacent
STORED_FINDINGS = """
SELECT * REPLACE (tells::VARCHAR AS tells, text::VARCHAR AS text) FROM given
ORDER BY tells, fingerprint
"""
#: rows of the same kind are adjacent
STORED_STRUCTURED = """
SELECT * REPLACE (type::VARCHAR AS type, name::VARCHAR AS name, value::VARCHAR AS value,
    is_cut::BOOLEAN AS is_cut)
FROM given ORDER BY kind, page_id, position
"""
#: With the host of the target. Rows of the same element are adjacent, so a query about images reads
#: only the row groups with images.
STORED = """
SELECT *, split_part(split_part(target, '://', 2), '/', 1) AS target_host FROM given
ORDER BY element, page_id, position
"""
ROW_GROUP = 40_000
NO_FACTS: Mapping[str, object] = {}
#: idle read-only connections, each with its files, the most recently used last. Opening and closing
#: a connection takes longer than most queries
_IDLE: deque[tuple[tuple[str, ...], duckdb.DuckDBPyConnection]] = deque(maxlen=2)
# each process closes its own connections: a child that closes an engine of its parent crashes
os.register_at_fork(before=_IDLE.clear)


@contextmanager
def duckdb_connection(
    *, reads: Sequence[str] = (), writes: str = ""
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to DuckDB, which may read these files and write into this directory.

    The connection belongs to the caller alone. After a query that only reads, its engine stays open
    for the next query of the same files, unless the query ended with an error. Rows that the caller
    did not take are no error.
    """
    if writes:
        with _new_connection(reads, writes) as connection:
            yield connection
        return
    files = tuple(reads)
    opened = _take_idle_connection(files) or _new_connection(files)
    try:
        with opened.cursor() as connection:
            yield connection
    except GeneratorExit:
        _IDLE.append((files, opened))
        raise
    _IDLE.append((files, opened))


def _take_idle_connection(files: tuple[str, ...]) -> duckdb.DuckDBPyConnection | None:
    """An idle engine that may read these files. It is no longer in the list of idle engines."""
    for one in tuple(_IDLE):
        if one[0] == files:
            with suppress(ValueError):  # another thread has taken it
                _IDLE.remove(one)
                return one[1]
    return None


def _new_connection(reads: Sequence[str], writes: str = "") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": MEMORY,
            "enable_external_file_cache": False,  # the operating system's own cache is as fast
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "temp_directory": "",
        }
    )
    connection.execute("SET allowed_paths = $1", [list(reads)])
    connection.execute("SET allowed_directories = $1", [[writes] if writes else []])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def put_part(name: str, rows: Sequence[LinkRow]) -> int:
    """Store a part. Return its size in bytes. Raises OSError."""
    return put_rows(name, STORED, COLUMNS, rows)[1]


def put_findings(name: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """Store the findings on a part's pages, in the columns FINDINGS. Raises OSError."""
    return put_rows(name, STORED_FINDINGS, FINDINGS, rows)[1]


def put_texts(name: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """Store the texts of a part's pages, in the columns TEXTS. Raises OSError."""
    return put_rows(name, "SELECT * FROM given ORDER BY page_id", TEXTS, rows)[1]


def put_structured_data(name: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """Store the structured data of a part's pages, in the columns STRUCTURED. Raises OSError."""
    return put_rows(name, STORED_STRUCTURED, STRUCTURED, rows)[1]


def put_rows(
    name: str, query: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> tuple[int, int]:
    """Store rows with these columns in the query's form. Columns in NUMBERS are numbers, and others
    are texts. Return the number of rows, and the size in bytes. Raises OSError.
    """
    return put_query(name, query, _columns_of_rows(columns, rows))


def rows_in(name: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """These columns of all rows of a stored file. Raises OSError if the file is damaged or not on
    this machine.
    """
    path = str(storage().path(name))
    wanted = ", ".join(columns)
    with duckdb_connection(reads=[path]) as connection:
        try:
            # the query contains no input of users
            query = f"SELECT {wanted} FROM read_parquet('{path}')"  # noqa: S608
            return connection.execute(query).fetchall()
        except duckdb.OutOfMemoryException:
            raise
        # DuckDB raises errors of many classes, even if the file is missing
        except duckdb.Error as error:
            raise OSError(str(error)) from error


def put_part_without(part: str, pages: Sequence[int], name: str) -> tuple[int, int]:
    """Store the links of a part, except the links of these pages (ids). Return the number of links,
    and the size in bytes. Raises OSError.
    """
    source = str(storage().path(part))
    # the query contains no input of users
    kept = f"SELECT * FROM read_parquet('{source}') ANTI JOIN given USING (page_id)"  # noqa: S608
    gone = _columns_of_rows(("page_id",), [(page,) for page in pages])
    return put_query(name, kept, gone, reads=[source])


def _columns_of_rows(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return {
        name: np.array(values, dtype=np.int64 if name in NUMBERS else object)
        for name, values in zip(names, columns, strict=True)
    }


def put_query(
    name: str,
    query: str,
    given: Mapping[str, Any],
    *,
    reads: Sequence[str] = (),
    row_group: int = ROW_GROUP,
    facts: Mapping[str, object] = NO_FACTS,
) -> tuple[int, int]:
    """Store the rows of a query over the table `given`. given: its columns by name. Return the
    number of rows, and the size in bytes. Raises OSError.

    reads: files that the query reads. row_group: the number of rows in memory at once. facts:
    metadata of the file.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "part.parquet")
        rows = write_query(path, query, given, reads=reads, row_group=row_group, facts=facts)
        return rows, storage().put(name, pieces_of(path.open("rb")))


def write_query(
    path: Path,
    query: str,
    given: Mapping[str, Any],
    *,
    reads: Sequence[str] = (),
    row_group: int = ROW_GROUP,
    facts: Mapping[str, object] = NO_FACTS,
) -> int:
    """Write the rows of a query over the table `given` to a file on this machine. Return their
    number. given: its columns by name.
    """
    with duckdb_connection(reads=reads, writes=str(path.parent)) as connection:
        connection.register("given", dict(given))
        done = connection.execute(
            f"COPY ({query}) TO '{path}' "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {row_group}"
            f"{metadata_option(facts)})"
        ).fetchone()
        return done[0] if done else 0


def metadata_option(facts: Mapping[str, object]) -> str:
    """The option of COPY that adds key-value metadata to a file. facts: words and numbers of ours,
    no input of users.
    """
    told = ", ".join(f"{name}: '{value}'" for name, value in facts.items())
    return f", KV_METADATA {{{told}}}" if told else ""
