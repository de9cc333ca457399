"""Lists of a shift reach PostgreSQL as they are."""

import pytest
from django.db import DataError, connection
from django.db.backends.signals import connection_created
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg.adapt import PyFormat

from crawling.fetching.worker.jobs import run_shift
from crawling.frontier.sql_rows import QuickListDumper, use_quick_lists_on
from tests.databases.kept_connections import KEPT


@pytest.fixture(autouse=True)
def of_a_shift(db):
    connection.ensure_connection()
    use_quick_lists_on(connection)


def dumper():
    return connection.connection.adapters.get_dumper(list, PyFormat.AUTO)


def back(values, kind):
    """The server's reading of a list."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT %s::{kind}[]", [values])
        return cursor.fetchone()[0]


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.none(),
        max_size=6,
    )
)
@example([])
@example(["NULL", "null", "", " a ", "{b}", "c,d", 'e"f', "g\\h", "i'j", "%s"])
@example(["plain", "ü{},"])
def test_texts(values):
    assert back(values, "text") == values


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=6))
@example([None])
def test_numbers(values):
    assert back(values, "bigint") == values


@given(st.lists(st.floats(allow_nan=False), max_size=6))
@example([1.5, float("inf"), float("-inf"), 5e-324, -0.0])
def test_fractions(values):
    assert back(values, "float8") == values


def test_what_is_no_list_of_one_kind_is_left_to_psycopg():
    assert back([1.5, None], "float8") == [1.5, None]
    assert back([True, False], "bool") == [True, False]


@pytest.mark.django_db(transaction=True)
def test_a_nul_is_refused_before_it_is_sent():
    with pytest.raises((DataError, ValueError), match="NUL"):
        back(["a", "b\0"], "text")


@pytest.mark.django_db(transaction=True)
def test_only_the_connections_of_a_process_that_runs_shifts_write_them_quickly():
    connection_created.disconnect(use_quick_lists_on)
    connection.close()
    KEPT.close()  # a kept connection may have been a shift's
    connection.connect()
    assert not issubclass(dumper(), QuickListDumper)

    run_shift(process_id=0, epoch=1)
    connection.ensure_connection()

    assert issubclass(dumper(), QuickListDumper)
