"""Typed text is kept, and its mistakes are told by cell, with the remedy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocation.whatif.draft import (
    BadDraft,
    ClassText,
    Draft,
    ProcessText,
    draft_of,
    read_draft,
    read_draft_fields,
    read_request,
)
from allocation.whatif.examples import EXAMPLES
from tests.allocation.whatif.states import large_ones, sandboxes

SILBERSCHATZ = EXAMPLES["silberschatz"].sandbox
TYPED = draft_of(SILBERSCHATZ)


def change(place: int, **texts: str) -> Draft:
    rows = list(TYPED.rows)
    rows[place] = replace(rows[place], **texts)
    return replace(TYPED, rows=tuple(rows))


@pytest.mark.parametrize(
    ("draft", "field", "sentence"),
    [
        (
            change(1, maximum="3 2x 2"),
            "process-1-maximum",
            "Max of P1, class B: “2x” is not a whole number from 0 up. Use digits only.",
        ),
        (
            change(1, maximum="3 2"),
            "process-1-maximum",
            "Max of P1: 2 numbers for 3 classes. Enter one for each: A, B, C.",
        ),
        (
            change(1, allocation="2 0 -1"),
            "process-1-allocation",
            "Allocation of P1, class C: “-1” is not",
        ),
        (
            change(1, allocation="2 3 0"),
            "process-1-allocation",
            "Allocation of P1, class B: 3 held, but Max is 2. Raise Max or hold less.",
        ),
        (
            change(1, allocation="9999999999 0 0"),
            "process-1-allocation",
            "is more than 2,147,483,647, the most. Use a larger unit.",
        ),
        (change(1, name=" "), "process-1-name", "A process has no name. Give it one."),
        (change(1, name="P0"), "process-1-name", "Another process is named P0, too. Rename one."),
        (
            change(1, name="a\tb"),
            "process-1-name",
            "has a sign that cannot be printed. Leave it out.",
        ),
        (
            replace(TYPED, classes=(ClassText("A", ""), *TYPED.classes[1:])),
            "class-0-units",
            "Class A: nothing is entered.",
        ),
        (
            replace(
                draft_of(SILBERSCHATZ, by_total=True),
                classes=(ClassText("A", "6"), ClassText("B", "5"), ClassText("C", "7")),
                by_total=True,
            ),
            "class-0-units",
            "7 are held, but the total is 6.",
        ),
        (Draft(), "", "There is no resource class. Add at least one."),
    ],
)
def test_a_mistake_is_told_by_cell(draft, field, sentence):
    with pytest.raises(BadDraft) as told:
        read_draft(draft)

    (fault,) = told.value.faults
    assert fault.field == field
    assert sentence in fault.sentence


def test_all_mistakes_are_told_at_once():
    with pytest.raises(BadDraft) as told:
        read_draft(
            replace(change(1, maximum="x y"), classes=(ClassText("", "z"), *TYPED.classes[1:]))
        )

    assert [fault.field for fault in told.value.faults] == [
        "class-0-name",
        "class-0-units",
        "process-1-maximum",
    ]


@pytest.mark.parametrize(
    ("process", "request_", "field"),
    [
        ("", "1 0 0", "process"),
        ("P9", "1 0 0", "process"),
        ("P1", "", "request"),
        ("P1", "0 0 0", "request"),
        ("P1", "1 0 x", "request"),
    ],
)
def test_a_request_that_makes_no_sense_is_told(process, request_, field):
    with pytest.raises(BadDraft) as told:
        read_request(replace(TYPED, process=process, request=request_), SILBERSCHATZ)

    assert [fault.field for fault in told.value.faults] == [field]


def test_commas_do_as_well_as_blanks():
    assert read_draft(change(1, maximum=" 3,2 ; 2 ")) == SILBERSCHATZ


@given(large_ones, st.booleans())
def test_the_page_reads_what_it_shows(sandbox, by_total):
    shown = draft_of(sandbox, by_total=by_total and max(sandbox.total) < 2**31)

    assert read_draft(shown) == sandbox


@given(sandboxes())
def test_added_and_taken_away_again_nothing_has_changed(sandbox):
    draft = draft_of(sandbox)

    assert draft.add_classes(1).without_class(len(sandbox.classes)) == draft
    assert draft.add_processes(1).without_process(len(sandbox.processes)) == draft
    assert (
        read_draft(draft.add_classes(2).add_processes(2)).total[: len(sandbox.classes)]
        == sandbox.total
    )


def test_new_ones_are_named_so_that_they_can_be_told_apart():
    draft = Draft().add_classes(2).add_processes(1).without_class(0).add_classes(1).add_processes(1)

    assert [one.name for one in draft.classes] == ["R1", "R0"]
    assert draft.rows[1] == ProcessText("process1", "0 0", "0 0")


def test_no_more_are_added_than_there_may_be():
    assert len(Draft().add_classes(10**9).classes) == 50
    assert len(Draft().add_processes(10**9).rows) == 1000


def test_what_was_mistyped_elsewhere_stays():
    draft = change(1, maximum="three").add_classes(1).add_processes(1).without_process(0)

    assert draft.rows[0].maximum == "three 0"


@given(
    st.dictionaries(
        st.sampled_from(["class_name", "process_name", "process_maximum", "by", "request"]),
        st.lists(st.text(max_size=5), max_size=3),
    )
)
def test_whatever_is_sent_is_a_draft(lists):
    draft = read_draft_fields(lists)

    assert len(draft.rows) == max(
        len(lists.get("process_name", [])), len(lists.get("process_maximum", []))
    )


def test_units_come_back_and_a_process_leaves():
    released = SILBERSCHATZ.release(1, (1, 0, 0))
    finished = SILBERSCHATZ.finish(1)

    assert released.state.available == (4, 3, 2)
    assert (finished.processes, finished.state.available) == (("P0", "P2", "P3", "P4"), (5, 3, 2))
    assert released.total == finished.total == SILBERSCHATZ.total == (10, 5, 7)


def test_more_than_it_holds_cannot_be_given_back():
    with pytest.raises(ValueError, match="P1 cannot release 3 of A, of which it holds 2"):
        SILBERSCHATZ.release(1, (3, 0, 0))
