"""Schemas of the API read what ninja's read."""

# No postponed annotations here: pydantic reads those of classes inside a function.

from types import SimpleNamespace

import ninja
import pytest
from pydantic import ConfigDict, Field, ValidationError

from serving.schemas import Schema


def made_of(base):
    class Row(base):
        name: str
        count: int = 3
        size: int | None = Field(None, alias="bytes")

    class Named(base):
        title: str

        @staticmethod
        def resolve_title(row):
            return f"of {row['name']}"

    class Answer(base):
        rows: list[Row]
        named: Named | None = None

    class Asked(base):
        model_config = ConfigDict(extra="forbid", strict=True)
        days: int

    return Row, Answer, Asked


@pytest.mark.parametrize(
    "value",
    [
        {"rows": [{"name": "a", "bytes": 5, "more": 1}], "named": {"name": "x"}},
        {"rows": [SimpleNamespace(name="a", count=4)]},
        SimpleNamespace(rows=[{"name": "a"}], named={"name": "y"}),
        {"rows": []},
    ],
)
def test_an_answer_is_that_of_ninja(value):
    ours, theirs = (made_of(base)[1].model_validate(value) for base in (Schema, ninja.Schema))
    assert ours.model_dump() == theirs.model_dump()


@pytest.mark.parametrize("value", [{"days": "3"}, {"days": 3, "more": 1}, {}, [], "x"])
def test_what_ninja_refuses_is_refused(value):
    for base in (Schema, ninja.Schema):
        with pytest.raises(ValidationError):
            made_of(base)[2].model_validate(value)


def test_a_row_that_is_made_is_not_read_again():
    row, answer, _ = made_of(Schema)
    one = row(name="a")
    assert answer(rows=[one]).rows[0] is one
