"""Kinds of fields that orders are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"


def _no_truth_value(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "a truth value is no number")
    return value


#: JSON's true would otherwise count as 1
NUMBER = BeforeValidator(_no_truth_value)
Count = Annotated[int, Field(ge=1, le=1_000_000_000), NUMBER]
Bytes = Annotated[int, Field(ge=1, le=2**60), NUMBER]
Text = Annotated[str, Field(min_length=1, max_length=500, pattern=ONE_LINE)]
