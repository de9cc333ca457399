"""Tables of pages as rows of texts, whatever their spans are, within limits of time and memory."""

from __future__ import annotations

import json
import resource
import time

import pytest
import turbohtml
from hypothesis import example, given
from hypothesis import strategies as st

from crawling.web.documents import table_cells
from crawling.web.documents.table_cells import (
    MOST_BYTES,
    MOST_CELL,
    MOST_CELLS,
    MOST_TABLES,
    find_tables,
)


def tables_of(html: str):
    return find_tables(turbohtml.parse(html))[0]


def test_spans_are_written_out_and_tables_in_tables_stand_for_themselves():
    outer, inner = tables_of(
        """<table><caption> My
        <b>prices</b></caption><thead><tr><th colspan=2>A<th>B</thead>
        <tr><td rowspan=0>1<td>2<br>x <b>y</b><td><table><tr><td>in</table>
        <tr><td>y<p>z<script>no()</script></table>"""
    )

    assert outer.caption == "My prices"
    assert outer.rows == [["A", "A", "B"], ["1", "2 x y", "in"], ["1", "y z", ""]]
    assert inner.rows == [["in"]]
    assert not outer.is_cut


@pytest.mark.parametrize(
    ("span", "columns"), [("3", 3), ("3px", 3), ("0", 1), ("-2", 1), ("x", 1), ("9" * 30, 1_000)]
)
def test_a_span_is_read_as_browsers_read_it(span, columns):
    ((row,),) = (table.rows for table in tables_of(f'<table><tr><td colspan="{span}">a'))

    assert row == ["a"] * columns


def test_what_is_behind_the_limits_is_said_to_be_missing():
    long = "x" * 2 * MOST_CELL
    (table,) = tables_of(f"<table><tr><td>{long}<tr><td>b")
    assert (table.rows, table.is_cut) == ([["x" * MOST_CELL], ["b"]], True)
    (table,) = tables_of("<table>" + "<tr><td colspan=1000>x" * 200)
    assert (len(table.rows), table.is_cut) == (MOST_CELLS // 1_000, True)
    first, second = tables_of("<table>" + "<tr><td colspan=1000>x" * 100 + "</table><table><td>y")
    # a small one loses nothing to a large one
    assert (len(first.rows), first.is_cut) == (MOST_CELLS // 1_000 - 1, True)
    assert (second.rows, second.is_cut) == ([["y"]], False)
    found, more = find_tables(turbohtml.parse("<table><tr><td>x</table>" * (MOST_TABLES + 3)))
    assert (len(found), more) == (MOST_TABLES, 3)


def test_texts_of_tables_in_tables_are_read_up_to_a_limit():
    found = tables_of("<table><tr><td>" * 6 + "y" * 2_000_000)

    assert [(len(table.rows), table.is_cut) for table in found] == [(1, True)] * 4 + [(0, True)] * 2


@pytest.mark.parametrize(
    "html",
    [
        "<table>" + ("<tr>" + "<td colspan=1000 rowspan=65534>x" * 100) * 100,
        "<table>" + "<tr><td rowspan=0>x" * 3_000,
        "<table><tr>" + "<td>" * 500_000,
        "<table><tr><td>" * 400 + "y" * 2_000_000,
        "<table><tr>" + "<td colspan=1000>" + "\U0001f600" * MOST_CELL,
        "<table><tr><td>x</table>" * 50_000,
        "<br>" * 500_000,
    ],
)
def test_a_hostile_table_takes_little_time_and_memory(html):
    document = turbohtml.parse(html)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()

    found, _ = find_tables(document)

    assert time.process_time() - began < 4
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 128 * 1024
    assert sum(len(row) for table in found for row in table.rows) <= MOST_CELLS
    assert len(json.dumps([table.rows for table in found])) < MOST_BYTES + 4 * MOST_CELLS


PIECES = (
    *("<table>", "</table>", "<tr>", "<tbody>", "<td colspan=3>", "<th rowspan=2>", "<caption>"),
    *("<td rowspan=0 colspan=2>", "<td>", "x", "<br>", "<tfoot>", "<thead>"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
@example("<table><tr><td rowspan=2 colspan=3>a<tr><td colspan=2>b")
@example("<table><tr><td rowspan=0>a<tr><td rowspan=2>b<tr><td>c<tbody><tr><td>d")
def test_no_table_has_more_columns_than_are_counted_before_its_spans_are_written_out(html):
    for table in turbohtml.parse(html).find_all("table"):
        counted = [columns for _, columns in table_cells._rows_of_table(table)]
        written = table.rows()
        assert len(written) == len(counted)
        assert max(map(len, written), default=0) <= max(counted, default=0)
