"""The dataset's files: written and read by DuckDB, in memory and on one thread.

It reads and writes files of one directory and nothing else, and loads no extension.
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

#: a part has some hundred thousand rows, and a query reads many parts
MEMORY = "192MB"
#: the columns of a link: the page's id and address, its number on the page (in the document's order
#: among elements of the same name), the text of the document, and the fingerprint of its target,
#: which is found and compared much faster than the target
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
#: the columns of a finding of a second reading: the page's id and fingerprint, its kind, text, how
#: many there are, and the line of the first
FINDINGS = ("page_id", "fingerprint", "tells", "text", "count", "line")
#: the columns of the texts of a page: its id and address, type without parameters, time of the
#: fetch in seconds, the code of its language, and its text as `crawling.web.documents.html_text`
#: divides it
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
#: places of the same page lie together
STORED_FINDINGS = """
SELECT * REPLACE (tells::VARCHAR AS tells, text::VARCHAR AS text) FROM given
ORDER BY tells, fingerprint
"""
#: rows of the same kind lie together
STORED_STRUCTURED = """
SELECT * REPLACE (type::VARCHAR AS type, name::VARCHAR AS name, value::VARCHAR AS value,
    is_cut::BOOLEAN AS is_cut)
FROM given ORDER BY kind, page_id, position
"""
#: With the host of the target. Rows of the same element lie together: a question about images reads
#: the row groups that have some.
STORED = """
SELECT *, split_part(split_part(target, '://', 2), '/', 1) AS target_host FROM given
ORDER BY element, page_id, position
"""
ROW_GROUP = 40_000
NO_FACTS: Mapping[str, object] = {}
#: idle connections that read, each with its files; the last is the one used last. Opening and
#: closing one takes longer than most questions
_IDLE: deque[tuple[tuple[str, ...], duckdb.DuckDBPyConnection]] = deque(maxlen=2)
# closed by its own process: a child that closes an engine of its parent crashes
os.register_at_fork(before=_IDLE.clear)


@contextmanager
def engine(*, reads: Sequence[str] = (), writes: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB, which may read these files and write into this directory.

    The connection is the caller's own. If it only reads, its engine stays open for the next query
    of the same files, unless this one ends with an error; untaken rows are no error.
    """
    if writes:
        with _opened(reads, writes) as connection:
            yield connection
        return
    files = tuple(reads)
    opened = _idle(files) or _opened(files)
    try:
        with opened.cursor() as connection:
            yield connection
    except GeneratorExit:
        _IDLE.append((files, opened))
        raise
    _IDLE.append((files, opened))


def _idle(files: tuple[str, ...]) -> duckdb.DuckDBPyConnection | None:
    """An engine that may read these files; no other thread has it."""
    for one in tuple(_IDLE):
        if one[0] == files:
            with suppress(ValueError):  # another thread has taken it
                _IDLE.remove(one)
                return one[1]
    return None


def _opened(reads: Sequence[str], writes: str = "") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": MEMORY,
            "enable_external_file_cache": False,  # the system's is as quick
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


def put_structured(name: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """Store the structured data of a part's pages, in the columns STRUCTURED. Raises OSError."""
    return put_rows(name, STORED_STRUCTURED, STRUCTURED, rows)[1]


def put_rows(
    name: str, query: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> tuple[int, int]:
    """Store rows of these columns, of which NUMBERS are numbers and others texts, in the query's
    form. Return their number, and the size in bytes. Raises OSError.
    """
    return put_query(name, query, _columns(columns, rows))


def rows_in(name: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """These columns of all rows of a stored file. Raises OSError if it is not on this machine, or
    damaged.
    """
    path = str(storage().path(name))
    wanted = ", ".join(columns)
    with engine(reads=[path]) as connection:
        try:
            # nothing of it is a user's
            query = f"SELECT {wanted} FROM read_parquet('{path}')"  # noqa: S608
            return connection.execute(query).fetchall()
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:  # errors of many classes, even for a missing file
            raise OSError(str(error)) from error


def put_part_without(part: str, pages: Sequence[int], name: str) -> tuple[int, int]:
    """Store the links of a part without those of these pages, by their ids. Return their number,
    and the size in bytes. Raises OSError.
    """
    source = str(storage().path(part))
    # nothing of it is a user's
    kept = f"SELECT * FROM read_parquet('{source}') ANTI JOIN given USING (page_id)"  # noqa: S608
    gone = _columns(("page_id",), [(page,) for page in pages])
    return put_query(name, kept, gone, reads=[source])


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
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
    """Store the rows of a query over `given`, of these columns. Return their number, and the size
    in bytes. Raises OSError.

    reads: files that the query reads. row_group: rows that are in memory at once. facts: that the
    file tells of itself.
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
    """Write the rows of a query over `given` to a file of this machine. Return their number."""
    with engine(reads=reads, writes=str(path.parent)) as connection:
        connection.register("given", dict(given))
        done = connection.execute(
            f"COPY ({query}) TO '{path}' "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {row_group}{told_facts(facts)})"
        ).fetchone()
        return done[0] if done else 0


def told_facts(facts: Mapping[str, object]) -> str:
    """The option of COPY by which a file has key-value metadata. The facts are ours: words and
    numbers.
    """
    told = ", ".join(f"{name}: '{value}'" for name, value in facts.items())
    return f", KV_METADATA {{{told}}}" if told else ""
