"""An engine that stays open for the next question gives it nothing of the one before."""

from __future__ import annotations

import os
from contextlib import suppress

import duckdb
import numpy as np
import pytest

from crawling.datasets.parquet import duckdb_connection, put_query, rows_in, storage


@pytest.fixture
def parts(tmp_path, settings):
    """Two stored files; their paths."""
    settings.ARCHIVE_DIR = tmp_path
    names = ["links1/one.parquet", "links1/two.parquet"]
    for number, name in enumerate(names):
        put_query(name, "FROM given", {"number": np.array([number])})
    return [str(storage().path(name)) for name in names]


def number_in(connection, path):
    return connection.execute(f"SELECT number FROM read_parquet('{path}')").fetchone()[0]


def test_the_next_question_to_a_file_has_no_table_of_the_one_before(parts):
    with duckdb_connection(reads=parts[:1]) as connection:
        connection.execute("CREATE TEMP VIEW mine AS SELECT 1")
        assert number_in(connection, parts[0]) == 0
    with duckdb_connection(reads=parts[:1]) as connection:
        assert number_in(connection, parts[0]) == 0
        with pytest.raises(duckdb.CatalogException):
            connection.execute("FROM mine")


def test_each_question_reads_its_own_files_alone(parts):
    for mine, other in (parts, parts[::-1]) * 2:
        with duckdb_connection(reads=[mine]) as connection:
            number_in(connection, mine)
            with pytest.raises(duckdb.PermissionException):
                number_in(connection, other)


def test_questions_at_once_have_an_engine_each(parts):
    """One that is broken off may not break off another."""
    with duckdb_connection(reads=parts[:1]):
        pass
    with duckdb_connection(reads=parts[:1]) as first, duckdb_connection(reads=parts[:1]) as second:
        first.execute("CREATE TABLE own AS SELECT 1")
        with pytest.raises(duckdb.CatalogException):
            second.execute("FROM own")


def test_an_engine_stays_open_after_a_reader_that_leaves_rows(parts):
    def rows():
        with duckdb_connection(reads=parts[:1]) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS own AS SELECT 1")
            yield from connection.execute("FROM own, range(10000)").fetchmany(10)

    reader = rows()
    next(reader)
    reader.close()
    with duckdb_connection(reads=parts[:1]) as connection:
        assert connection.execute("FROM own").fetchall() == [(1,)]


def test_an_engine_with_an_error_is_not_asked_again(parts):
    with suppress(duckdb.CatalogException), duckdb_connection(reads=parts[:1]) as connection:
        connection.execute("CREATE TABLE own AS SELECT 1")
        connection.execute("FROM nothing")
    with duckdb_connection(reads=parts[:1]) as connection, pytest.raises(duckdb.CatalogException):
        connection.execute("FROM own")


def test_a_file_that_is_replaced_is_read_anew(parts):
    name = "links1/one.parquet"
    for number in (7, 8):
        put_query(name, "FROM given", {"number": np.array([number])})
        assert rows_in(name, ["number"]) == [(number,)]


def test_a_forked_process_asks_an_engine_of_its_own(parts):
    with duckdb_connection(reads=parts[:1]) as connection:
        number_in(connection, parts[0])

    child = os.fork()
    if not child:
        with duckdb_connection(reads=parts[:1]) as connection:
            os._exit(number_in(connection, parts[0]) + 7)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
