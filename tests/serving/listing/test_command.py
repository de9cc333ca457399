"""A declared list on the command line: its options, its lines and its file."""

from __future__ import annotations

import json
from functools import partial
from io import StringIO

import pytest
from django.core.management.base import CommandError, CommandParser, OutputWrapper

from serving.downloads import row_file
from serving.listing.command import (
    add_list_options,
    export_rows,
    show_list,
)
from tests.serving.listing.test_row_list import BY_NUMBER, FRUITS, asking

ROWS = [("a", 1.5, 0), ("b", 70.0, 1), ("ab", 2.0, 2)]


def options(rows, *words):
    parser = CommandParser(called_from_command_line=False)
    parser.add_argument("--json", action="store_true")
    add_list_options(parser, rows)
    return vars(parser.parse_args(list(words)))


def lines(rows, *words):
    out = StringIO()
    asked, file = options(rows, *words), partial(row_file, "x", rows=[])
    show_list(rows, asking(ROWS), asked, OutputWrapper(out), line=lambda row: row.name, file=file)
    return out.getvalue()


def names(rows, *words):
    return lines(rows, *words).split()


def test_filters_and_sorts_of_a_list_are_options():
    assert names(FRUITS) == ["b", "ab", "a"]
    assert names(FRUITS, "--text", "a", "--sort", "places") == ["ab", "a"]
    assert names(FRUITS, "--size", "60", "--limit", "1") == ["b"]
    assert names(FRUITS, "--kind", "a") == ["a"]
    assert names(BY_NUMBER) == ["a", "b", "ab"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limit", "0"), "--limit: must be 1 or more"),
        (("--size", "x"), "--size: must be like 50"),
        (("--kind", "c"), "--kind: must be all or a or b"),
        (("--sort", "name"), "invalid choice: 'name'"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_option(words, said):
    with pytest.raises(CommandError, match=said):
        options(FRUITS, *words)


def test_rows_are_lines_or_an_object_each():
    row = {"number": 0, "name": "a", "weight": 1.5, "places": 0, "note": None}

    assert lines(BY_NUMBER, "--limit", "1") == "a\n"
    assert json.loads(lines(BY_NUMBER, "--limit", "1", "--json")) == row


def test_an_export_has_the_kind_and_the_filters_that_were_asked_for(tmp_path):
    place = str(tmp_path / "rows.jsonl")
    asked, out = options(FRUITS, "--text", "a", "--export", place), StringIO()

    def file(kind, wanted):
        return row_file("x", kind, [wanted])

    show_list(FRUITS, asking(ROWS), asked, OutputWrapper(out), line=str, file=file)

    found = json.loads((tmp_path / "rows.jsonl").read_text())
    assert out.getvalue().startswith(f"{place}: ")
    assert found == {"q": "a", "size": "", "kind": "all"}


def test_a_file_is_of_the_kind_that_its_name_ends_with(tmp_path):
    def write(name):
        asked = {"export": tmp_path / name}
        return export_rows(asked, lambda kind: row_file("x", kind, [{"a": 1}]), endings=["csv"])

    assert write("rows.csv").endswith("rows.csv: 6 bytes")
    assert (tmp_path / "rows.csv").read_text() == "a\n1\n"
    with pytest.raises(CommandError, match="must end with csv"):
        write("rows.xml")
    with pytest.raises(CommandError, match="No such file"):
        write("gone/rows.csv")
