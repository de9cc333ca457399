"""Tables in CSV hold no formulas, whoever wrote their texts."""

from __future__ import annotations

import csv

import pytest

from allocation.csv_cells import guarded
from crawling.dashboard.base.spreadsheets import csv_lines
from crawling.dashboard.run.diagnostics_bundle import _csv
from dnscache.export import _cell

FORMULAS = ["-2+3+cmd|' /C calc'!A0", "=1+1", "+1+1", "@SUM(A1)", " =1+1", "\t=1", "\r=1", "\n=1"]


@pytest.mark.parametrize("text", [*FORMULAS, "\uff1d1+1", "\u00a0=1", "- item"])
def test_what_could_be_a_formula_is_text_everywhere(text):
    by_hand = _csv([{"title": text}])

    assert guarded(text) == f"'{text}"
    assert "".join(csv_lines(["title"], [[text]])) == by_hand
    assert list(csv.reader(by_hand.splitlines(keepends=True)))[1] == [f"'{text}"]


@pytest.mark.parametrize("text", FORMULAS)
def test_the_cache_of_names_guards_them_too(text):
    assert _cell(text) == f"'{text}"


@pytest.mark.parametrize("cell", [-5, -1.5, None, "-12.5", "+3", "-1e-5", "a-b", "", "5 - 3"])
def test_numbers_and_other_texts_stay_as_they_are(cell):
    assert guarded(cell) == cell
