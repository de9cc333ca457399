"""The only way to query the dataset: DuckDB over the parts of a run, read only, with limits of
memory and time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
from django.db.models import QuerySet

from crawling.base.errors import CrawlError
from crawling.base.storage import storage
from crawling.datasets.parquet import COLUMNS, FINDINGS, NUMBERS, duckdb_connection
from crawling.datasets.parts import count_pages_behind
from crawling.models import LinksPart, Run, WithdrawnPage

#: the time limit of a query for a page or an endpoint; ten million links take up to two seconds of
#: processor time
SECONDS = 10.0
#: the number of rows read at a time for a reader that takes row after row
ROWS = 1_000


def empty_query(columns: Sequence[str]) -> str:
    """A query without rows. The query stands for the files of a run without files."""
    return ", ".join(
        f"NULL::{'BIGINT' if column in NUMBERS else 'VARCHAR'} AS {column}" for column in columns
    )


#: the queries that replace the parts of a run without any
NO_LINKS, NO_FINDINGS = empty_query((*COLUMNS, "target_host")), empty_query(FINDINGS)


class LinkSearchTookTooLong(CrawlError):
    """The links of this run were read for 10 seconds and that was broken off; name a page or a
    target, or export them.
    """


def part_paths(run: Run, part: LinksPart | None = None) -> list[str]:
    """The paths of the parts of a run, or of one part, that are on this machine."""
    return _local_paths(
        _written_parts(run, part).filter(links__gt=0).values_list("name", flat=True)
    )


def has_all_links(run: Run) -> bool:
    """Whether the links of all pages of a run are on this machine."""
    if count_pages_behind(run):
        return False
    return len(part_paths(run)) == _written_parts(run, None).filter(links__gt=0).count()


def _written_parts(run: Run, part: LinksPart | None) -> QuerySet[LinksPart]:
    found = LinksPart.objects.filter(run=run, written_at__isnull=False).order_by("pk")
    return found.filter(pk=part.pk) if part else found


def _local_paths(names: Iterable[str]) -> list[str]:
    """The paths of these files, as far as they are on this machine."""
    place = storage().path
    return [str(path) for path in map(place, names) if path.exists()]


def query_links(
    run: Run,
    query: str,
    values: Mapping[str, Any] | None = None,
    *,
    seconds: float = SECONDS,
    before: Run | None = None,
) -> list[tuple[Any, ...]]:
    """The rows of a query over the table `links`. Raises LinkSearchTookTooLong.

    query: contains no input of users. Their input goes into `values`, to which the query refers as
    $name. before: a run whose links are in the table `old_links`.
    """
    with _links_connection(run, before) as connection, time_limited(connection, seconds):
        return connection.execute(query, dict(values or {})).fetchall()


def stream_query_rows(
    run: Run,
    query: str,
    wanted: Mapping[str, Any] | None = None,
    *,
    before: Run | None = None,
    part: LinksPart | None = None,
) -> Iterator[tuple[Any, ...]]:
    """The rows of a query over `links`, `old_links` and, if given, the table `wanted`, read while
    they are taken. Raises LinkSearchTookTooLong as soon as ROWS rows take too long.

    part: read only the links and findings of this part.
    """
    with _links_connection(run, before, part) as connection:
        if wanted:
            connection.register("wanted", dict(wanted))
        yield from rows_within_limit(connection, query)


def columns_by_values(
    run: Run, query: str, each: Iterable[Mapping[str, Any]], *, seconds: float
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the columns of the query's rows, once for each set of values.

    Raises LinkSearchTookTooLong if a query takes longer than `seconds`.
    """
    with _links_connection(run) as connection:
        for values in each:
            with time_limited(connection, seconds):
                columns = connection.execute(query, dict(values)).fetchnumpy()
            yield columns


@contextmanager
def _links_connection(
    run: Run, before: Run | None = None, part: LinksPart | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the tables `links`, `findings` (of a second reading of the pages) and
    `old_links` (of the run before).

    No table has rows of withdrawn pages; links to such pages are included.
    """
    paths, findings = part_paths(run, part), _findings_of(run, part)
    earlier = part_paths(before) if before else []
    with duckdb_connection(reads=[*paths, *findings, *earlier]) as connection:
        but = withdrawn_page_condition(connection, [run, before] if before else [run])
        connection.execute(f"CREATE TEMP VIEW links AS {rows_query(paths, NO_LINKS)}{but}")
        connection.execute(f"CREATE TEMP VIEW findings AS {rows_query(findings, NO_FINDINGS)}{but}")
        connection.execute(f"CREATE TEMP VIEW old_links AS {rows_query(earlier, NO_LINKS)}{but}")
        yield connection


def withdrawn_page_condition(connection: duckdb.DuckDBPyConnection, runs: Sequence[Run]) -> str:
    """The end of the definition of a view; it leaves out rows of withdrawn pages of these runs."""
    withdrawn = WithdrawnPage.objects.filter(run__in=runs, content__isnull=False)
    gone = list(withdrawn.values_list("url", flat=True))
    connection.register("withdrawn", {"page_id": np.array(gone, dtype=np.int64)})
    return " ANTI JOIN withdrawn USING (page_id)" if gone else ""


def _findings_of(run: Run, part: LinksPart | None) -> list[str]:
    return _local_paths(one.findings_name for one in _written_parts(run, part))


def rows_within_limit(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    values: Mapping[str, Any] | None = None,
    *,
    at_a_time: int = ROWS,
) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, read while they are taken. Raises LinkSearchTookTooLong as soon as
    `at_a_time` rows take too long.
    """
    with time_limited(connection):
        found = connection.execute(query, dict(values or {}))
    while True:
        with time_limited(connection):
            rows = found.fetchmany(at_a_time)
        if not rows:
            return
        yield from rows


@contextmanager
def time_limited(connection: duckdb.DuckDBPyConnection, seconds: float = SECONDS) -> Iterator[None]:
    """Interrupt the connection's query after `seconds`. Raises LinkSearchTookTooLong."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    except (duckdb.InterruptException, duckdb.OutOfMemoryException) as error:
        raise LinkSearchTookTooLong from error
    finally:
        timer.cancel()


def rows_query(paths: Sequence[str], nothing: str) -> str:
    """A query for all rows of these files. nothing: the query without any file."""
    if not paths:
        return f"SELECT * FROM (SELECT {nothing} WHERE false)"  # noqa: S608 - constants
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"SELECT * FROM read_parquet([{listed}])"  # noqa: S608 - paths of our own
