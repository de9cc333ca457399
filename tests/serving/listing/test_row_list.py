"""A list by key: each row stands on one page, whatever the rows, the sort and the size of pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from serving.listing.columns import Column, columns_of
from serving.listing.row_list import BadListRequest, ListFilter, RowList


@dataclass(frozen=True)
class Fruit:
    """A row of the tests."""

    number: int
    name: Annotated[str, Column("as it is sold", "Name")]
    weight: Annotated[float, Column("in grams", "Weight", sorts=True)]
    places: Annotated[int, Column(sorts=True)]
    note: Annotated[str | None, Column(is_stored=False)]


FRUITS = RowList(
    Fruit,
    table="fruits",
    key="number",
    shown=("name", "weight"),
    filters=(
        ListFilter("q", "contains(name, $q)"),
        ListFilter(
            "size", "weight > CAST($size AS DOUBLE)", pattern="[0-9]{1,3}", example="like 50"
        ),
        ListFilter("kind", "$kind IN ('all', name)", choices=("all", "a", "b")),
    ),
    first_sort="weight",
)
BY_NUMBER = RowList(Fruit, table="fruits", key="number", shown=("name",))
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "ab"]),
        st.floats(0, 100, allow_nan=False, width=64),
        st.integers(-3, 3),
    ),
    max_size=12,
)


def asking(rows):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE fruits (number INT, name TEXT, weight DOUBLE, places INT)")
    for number, row in enumerate(rows):
        connection.execute("INSERT INTO fruits VALUES (?, ?, ?, ?)", [number, *row])
    return lambda query, values: connection.execute(query, dict(values)).fetchall()


def in_pages(rows, ask, wanted, most, sort=""):
    found, after = [], ""
    while after is not None:
        page, after = rows.page(ask, wanted, sort=sort, after=after, most=most)
        assert len(page) <= most
        found += page
    return found


@given(rows=ROWS, most=st.integers(1, 5), sort=st.sampled_from(["weight", "places"]))
def test_pages_have_each_row_once_in_order(rows, most, sort):
    found = in_pages(FRUITS, asking(rows), {}, most, sort)

    assert len(found) == len(rows)
    assert found == sorted(found, key=lambda row: (-getattr(row, sort), row.number))
    by_number = in_pages(BY_NUMBER, asking(rows), {}, most)
    assert [row.number for row in by_number] == list(range(len(rows)))


@given(rows=ROWS, most=st.integers(1, 5))
def test_filters_narrow_pages_and_files_alike(rows, most):
    wanted = {"q": "a", "size": "50"}

    found = in_pages(FRUITS, asking(rows), wanted, most)

    expected = {
        number for number, (name, weight, _) in enumerate(rows) if "a" in name and weight > 50
    }
    assert {row.number for row in found} == expected
    in_file = list(FRUITS.each(asking(rows), wanted))
    assert {row["number"] for row in in_file} == expected
    assert all(list(row) == ["number", "name", "weight", "places"] for row in in_file)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [({"size": "big"}, "size: must be like 50"), ({"kind": "c"}, "kind: must be all or a or b")],
)
def test_a_filter_says_what_it_must_be(wanted, told):
    with pytest.raises(BadListRequest, match=told):
        FRUITS.page(asking([]), wanted, most=1)


@pytest.mark.parametrize("after", ["x", "1.0_x", "1.0_-1", "_1", "1_" + "9" * 19, "nan"])
def test_a_cursor_of_no_list_is_refused(after):
    with pytest.raises(BadListRequest, match="no `next` of a page before"):
        FRUITS.page(asking([]), {}, after=after, most=1)


def test_the_first_choice_stands_for_none():
    rows = [("a", 1.0, 0), ("b", 2.0, 0)]

    assert len(in_pages(FRUITS, asking(rows), {}, 5)) == 2
    assert [row.name for row in in_pages(FRUITS, asking(rows), {"kind": "a"}, 5)] == ["a"]


def test_fields_are_told_by_their_annotations():
    told = {name: (one.label, one.is_number) for name, one in columns_of(Fruit).items()}
    schema = TypeAdapter(Fruit).json_schema()

    assert told["weight"] == ("Weight", True)
    assert told["number"] == ("number", True)
    assert (FRUITS.sorts, BY_NUMBER.sorts[0]) == (("weight", "places"), "")
    assert schema["properties"]["name"]["description"] == "as it is sold"
    assert "description" not in schema["properties"]["number"]
