"""The tables of a link graph, each in a Parquet file, as pages and downloads ask them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.datasets.parquet import engine
from crawling.datasets.query import SECONDS, limited
from crawling.uses.link_graph.graphs import LinkGraph

#: by name; each is a file
TABLES = ("pages", "links", "hosts", "host_links", "components", "drawn_nodes", "drawn_lines")
#: rows that are read at a time where a reader takes row after row
AT_A_TIME = 10_000


def ask(
    graph: LinkGraph, query: str, values: Mapping[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    """The rows of a query over the tables of a graph.

    query: ours; what users send goes into `values`, whose names stand with a $ in it. Raises
    LinkSearchTookTooLong, and ArchiveTrouble if its files are on another machine.
    """
    with _tables_of(graph, TABLES) as connection, limited(connection, SECONDS):
        return connection.execute(query, dict(values or {})).fetchall()


def page_hosts(graph: LinkGraph) -> list[str]:
    """The hosts of a graph that has its table of pages only."""
    with _tables_of(graph, ["pages"]) as connection:
        rows = connection.execute("SELECT DISTINCT host FROM pages ORDER BY host").fetchall()
    return [host for (host,) in rows]


def drawn_hosts(graph: LinkGraph) -> list[tuple[str, str, int, int, int]]:
    """Of the hosts of a graph without drawings, those with the most links first: name, domain,
    pages, links to it and from it.
    """
    query = "SELECT host, domain, pages, in_links, out_links FROM hosts"
    with _tables_of(graph, ["hosts"]) as connection:
        return connection.execute(query).fetchall()


def each_row(
    graph: LinkGraph, query: str, values: Mapping[str, Any] | None = None
) -> Iterator[tuple[Any, ...]]:
    """The rows of such a query, read while they are taken. Raises as `ask`, the first if AT_A_TIME
    rows take this long.
    """
    with _tables_of(graph, TABLES) as connection:
        with limited(connection, SECONDS):
            found = connection.execute(query, dict(values or {}))
        while True:
            with limited(connection, SECONDS):
                rows = found.fetchmany(AT_A_TIME)
            if not rows:
                return
            yield from rows


@contextmanager
def _tables_of(graph: LinkGraph, tables: Sequence[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    paths = {table: str(path_of(graph, table)) for table in tables}
    with engine(reads=list(paths.values())) as connection:
        for table, path in paths.items():
            # constants, and a path of ours
            rows = f"SELECT * FROM read_parquet('{path}')"  # noqa: S608
            query = f"CREATE TEMP VIEW {table} AS {rows}"
            connection.execute(query)
        yield connection


def path_of(graph: LinkGraph, table: str) -> Path:
    """Where a table of a graph is. Raises ArchiveTrouble if it is not on this machine."""
    if storage().size(graph.file(table)) is None:
        raise ArchiveTrouble(
            f"The link graph was computed on {graph.machine}, and its files are not on this "
            "machine. Compute it again where the dashboard runs, or share the archive directory."
        )
    return storage().path(graph.file(table))
