"""Tables in CSV hold no formulas, from any source."""

from __future__ import annotations

import csv
from datetime import UTC, datetime

import pytest

from crawling.dashboard.run.diagnostics_bundle import _csv
from serving.row_lines import csv_lines, guarded_cell, lines_of

FORMULAS = ["-2+3+cmd|' /C calc'!A0", "=1+1", "+1+1", "@SUM(A1)", " =1+1", "\t=1", "\r=1", "\n=1"]


@pytest.mark.parametrize("text", [*FORMULAS, "\uff1d1+1", "\u00a0=1", "- item"])
def test_what_could_be_a_formula_is_text_everywhere(text):
    by_hand = _csv([{"title": text}])

    assert guarded_cell(text) == f"'{text}"
    assert "".join(csv_lines(["title"], [[text]])) == by_hand
    assert list(csv.reader(by_hand.splitlines(keepends=True)))[1] == [f"'{text}"]


@pytest.mark.parametrize("cell", [-5, -1.5, None, "-12.5", "+3", "-1e-5", "a-b", "", "5 - 3"])
def test_numbers_and_other_texts_stay_as_they_are(cell):
    assert guarded_cell(cell) == cell


ROWS = [{"at": datetime(2026, 1, 2, tzinfo=UTC), "names": ["a", "ö"], "title": "=1"}] * 2


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("csv", "at,names,title\r\n" + "2026-01-02T00:00:00+00:00,a ö,'=1\r\n" * 2),
        ("jsonl", '{"at": "2026-01-02T00:00:00+00:00", "names": ["a", "ö"], "title": "=1"}\n' * 2),
        (
            "json",
            '[\n{"at": "2026-01-02T00:00:00+00:00", "names": ["a", "ö"], "title": "=1"},\n'
            '{"at": "2026-01-02T00:00:00+00:00", "names": ["a", "ö"], "title": "=1"}\n]\n',
        ),
    ],
)
def test_the_same_rows_are_a_table_objects_or_an_array(kind, text):
    assert "".join(lines_of(ROWS, kind)) == text


@pytest.mark.parametrize(("kind", "text"), [("csv", ""), ("jsonl", ""), ("json", "[]\n")])
def test_without_a_row_only_columns_that_are_given_are_written(kind, text):
    assert "".join(lines_of([], kind)) == text
    assert "".join(lines_of([], "csv", ("at", "title"))) == "at,title\r\n"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
def test_a_line_is_made_before_the_next_row_is_read(kind):
    read = []
    lines = lines_of(({"number": read.append(n) or n} for n in range(1000)), kind, ("number",))

    next(lines), next(lines)

    assert len(read) <= 2
