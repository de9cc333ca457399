"""Rows in a statement are those that were sent, and those of a result have their own fields."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from django.db import connection

from crawling.frontier.sql_rows import SentRows, read_rows
from crawlsite.env import BASE_DIR


class Sample(NamedTuple):
    number: int | None
    share: float | None
    text: str | None
    is_set: bool | None
    raw: bytes | None
    at: datetime | None


@dataclass(frozen=True)
class Found:
    text: str
    number: int


SAMPLES = SentRows("new", Sample)
#: arrays side by side, whose order must be that of the columns
PARALLEL = re.compile(r"unnest\(%(\(\w+\))?s::\w+\[\],\s*%")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def asked(statement, values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [one._replace(raw=one.raw and bytes(one.raw)) for one in read_rows(cursor, Sample)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [Sample(None, None, None, None, None, None)],
        [
            Sample(2**62, 0.5, 'a "text", {with} \\ signs', True, b"\0\xff", NOON),
            Sample(-1, 2.0, "", False, b"", None),
        ],
    ],
)
def test_rows_come_back_as_they_were_sent(rows):
    found = asked(
        f"SELECT {SAMPLES.columns} FROM {SAMPLES.numbered_rows} ORDER BY new.place",
        SAMPLES.values(rows),
    )

    assert found == rows


@pytest.mark.django_db
def test_other_values_of_a_statement_have_the_names_that_they_like():
    rows = [Sample(n, 0.0, str(n), True, b"", NOON) for n in (1, 2)]

    found = asked(
        f"SELECT {SAMPLES.names} FROM {SAMPLES} WHERE new.number = %(number)s",
        SAMPLES.values(rows, number=2),
    )

    assert [one.text for one in found] == ["2"]


@pytest.mark.django_db
def test_no_column_is_taken_for_another_field():
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'seven' AS text, 7 AS number")
        assert read_rows(cursor, Found) == [Found("seven", 7)]
        cursor.execute("SELECT 7 AS number, 'seven' AS text")
        with pytest.raises(TypeError, match="number"):
            read_rows(cursor, Found)


def test_a_field_whose_type_no_column_has_is_refused_when_it_is_declared():
    class Odd(NamedTuple):
        it: dict

    with pytest.raises(KeyError, match="dict"):
        SentRows("odd", Odd)


def test_no_statement_takes_arrays_side_by_side():
    assert PARALLEL.search("FROM unnest(%s::bigint[], %s::text[]) AS gone(id, error)")
    found = [
        path.relative_to(BASE_DIR)
        for path in (BASE_DIR / "crawling").rglob("*.py")
        if "migrations" not in path.parts and PARALLEL.search(path.read_text())
    ]

    assert found == []
