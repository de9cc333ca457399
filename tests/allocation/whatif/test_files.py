"""What is exported or put into a link comes back the same; what is no state is refused with its
place.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocation.rules.banker import State
from allocation.whatif.draft import draft_of, read_draft
from allocation.whatif.examples import EXAMPLES
from allocation.whatif.files import BadFile, read_file, to_csv, to_json
from allocation.whatif.links import BadLink, LinkTooLong, SharedState, from_link, to_link
from allocation.whatif.sandbox import Sandbox
from tests.allocation.whatif.states import large_ones

SILBERSCHATZ = EXAMPLES["silberschatz"].sandbox


@given(large_ones)
def test_a_file_reads_as_the_state_that_was_exported(sandbox):
    assert read_file(to_json(sandbox).encode()) == sandbox
    assert read_file(to_csv(sandbox).encode()) == sandbox


@given(large_ones, st.booleans())
def test_the_page_reads_what_it_shows(sandbox, by_total):
    shown = draft_of(sandbox, by_total=by_total and max(sandbox.total) < 2**31)

    assert read_draft(shown) == sandbox


@given(large_ones, st.data())
def test_a_link_leads_to_the_state_it_was_made_of(sandbox, data):
    asked = data.draw(
        st.none()
        | st.lists(
            st.integers(0, 9), min_size=len(sandbox.classes), max_size=len(sandbox.classes)
        ).map(tuple)
    )
    shared = SharedState(sandbox, data.draw(st.sampled_from(["", *sandbox.processes])), asked)

    assert from_link(to_link(shared)) == shared


@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda data: data.decode("latin-1")))
def test_a_damaged_link_is_refused_in_a_sentence(text):
    with pytest.raises(BadLink, match="damaged or was cut off"):
        from_link(text)


@pytest.mark.parametrize("end", [1, 10, 30])
def test_a_link_that_was_cut_off_is_refused(end):
    with pytest.raises(BadLink):
        from_link(to_link(SharedState(SILBERSCHATZ))[:-end])


def test_a_state_too_large_for_a_link_goes_into_a_file():
    rows = tuple(tuple((i * j * 7919) % 10_007 for j in range(40)) for i in range(200))
    sandbox = Sandbox(
        tuple(f"R{j}" for j in range(40)),
        tuple(f"P{i}" for i in range(200)),
        State((9,) * 40, rows, rows),
    )

    with pytest.raises(LinkTooLong, match="Export it as a file"):
        to_link(SharedState(sandbox))
    assert read_file(to_csv(sandbox).encode()) == sandbox


@given(st.binary(max_size=200))
def test_any_other_file_is_refused_in_a_sentence(data):
    with pytest.raises(BadFile):
        read_file(data)


def test_a_name_that_a_spreadsheet_would_calculate_is_guarded():
    sandbox = Sandbox(("=1+1", "'x"), ("@cmd",), State((1, 2), ((1, 1),), ((0, 0),)))

    text = to_csv(sandbox)

    assert text.splitlines()[0] == "process,kind,'=1+1,''x"
    assert text.splitlines()[2].startswith("'@cmd")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "P1,maximum,3,2,2",
            "P1,maximum,3,2x,2",
            "Line 5, column 4: B: “2x” is not a whole number",
        ),
        ("P1,maximum,3,2,2", "P1,maximum,3,2", "Line 5, column 4: 2 numbers for 3 classes"),
        (
            "P1,maximum,3,2,2",
            "P1,claims,3,2,2",
            "Line 5, column 2: Here “maximum” is expected, not “claims”",
        ),
        (
            "P1,allocation",
            "P2,allocation",
            "Line 6, column 1: Here the process P1 is expected, not “P2”",
        ),
        (
            "P1,allocation,2",
            "P1,allocation,4",
            "Line 6, column 3: P1 holds 4 of A, more than its maximum 3",
        ),
        ("P4,allocation,0,0,2\r\n", "", "The file ends before the line allocation of P4"),
        (
            "process,kind",
            "name,kind",
            "Line 1, column 1: The first line is to begin with process,kind",
        ),
        ("P1", "P2", "Two processes are named P2. Rename one."),
        ("P1,maximum", '"P1,maximum', "This is no CSV"),
    ],
)
def test_a_mistake_in_csv_is_told_with_line_and_column(old, new, sentence):
    assert sentence in complaint(to_csv(SILBERSCHATZ).replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "[3, 2, 2]",
            '[3, "2", 2]',
            "Line 7, column 9: maximum[1][1] is to be a whole number from 0 up.",
        ),
        ("[3, 2, 2]", "[3, true, 2]", "Line 7, column 9: maximum[1][1]"),
        ("[3, 2, 2]", "[3, 2]", "Line 7, column 5: maximum[1] is to be a list of 3 numbers"),
        (
            "[2, 0, 0]",
            "[4, 0, 0]",
            "Line 14, column 6: allocation[1][0] is 4, more than the maximum 3.",
        ),
        ("[3, 3, 2]", "[3, 3, -2]", "Line 3, column 23: available[2]"),
        ('"P1"', "1", "Line 4, column 23: processes[1] is to be a name in quotes."),
        ('"classes"', '"klasses"', "Line 1, column 1: “classes” is to be a list."),
        ('{\n  "classes"', '{"by": 1,\n  "classes"', "Line 1, column 8: “by” is not known here."),
        ("[3, 2, 2],", "[3, 2, 2]", "Line 8, column 5: This is no JSON: expecting ',' delimiter."),
        ('"B"', '"A"', "Two classes are named A. Rename one."),
    ],
)
def test_a_mistake_in_json_is_told_with_line_and_column(old, new, sentence):
    assert sentence in complaint(to_json(SILBERSCHATZ).replace(old, new))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "The file is empty"),
        (b"process,kind,\xff", "Line 1, column 14: This is no text in UTF-8"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"classes": ' + b"1" * 5000 + b"}", "a number that is too long"),
        (b"x" * 2_000_001, "more than 2 MB"),
        (json.dumps([1]).encode(), "is to be an object"),
    ],
)
def test_a_file_that_is_something_else_is_refused(data, sentence):
    assert sentence in complaint(data)


def complaint(data: str | bytes) -> str:
    with pytest.raises(BadFile) as told:
        read_file(data.encode() if isinstance(data, str) else data)
    return str(told.value)
