"""The kinds of an order's fields, and the question for each.

A part of an order annotates each field with its `Question`. The form, the options of the command
line, the descriptions in the API's schema and the table of `docs/orders.md` are made from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Field, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from allocation.wording import beginning_of_list

MIB = 1024 * 1024
ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
#: the number of entries of a list that are shown
TOLD = 20


def _refuse_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "a truth value is no number")
    return value


#: JSON's true would otherwise count as 1
NUMBER = BeforeValidator(_refuse_boolean)
Count = Annotated[int, Field(ge=1, le=1_000_000_000), NUMBER]
Bytes = Annotated[int, Field(ge=1, le=2**60), NUMBER]
Text = Annotated[str, Field(min_length=1, max_length=500, pattern=ONE_LINE)]


@dataclass(frozen=True, slots=True)
class FormUnit:
    """The unit of a form's field, if the order's unit is finer."""

    #: the last word of the order's field name, and its replacement in the form's field name
    of_order: str
    of_form: str
    #: the number of the order's units in one of the form's
    size: int
    #: an example of a valid number
    example: str


MEGABYTES = FormUnit("bytes", "megabytes", MIB, "500")
MINUTES = FormUnit("seconds", "minutes", 60, "90")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    #: the meaning, for readers of the schema, of the documentation and of the command line's help
    meaning: str
    #: the label of the form's field; empty if the form has no such field, or a separate widget
    label: str = ""
    #: the heading of the value when an order is shown; empty for the label. Values with the same
    #: heading share a row
    heading: str = ""
    #: the help text under the form's field
    help: str = ""
    #: the unit of a number on the form; None for the order's unit
    unit: FormUnit | None = None
    #: the choices on the form, as value and words
    choices: Sequence[tuple[str, str]] = ()
    #: the form's choice for None, if an empty answer means the default
    none: str = ""
    #: the separator between name and value in a line of a table
    mark: str = " = "
    #: the number of lines of a text that are visible at once
    rows: int = 2
    #: a sentence above the row of the form that begins with this field; None if the field may share
    #: a row with those before it
    above: str | None = None
    #: the option on the command line; empty if only a file can contain the field
    option: str = ""
    #: the name of the option's value in the command line's help
    metavar: str | None = None

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "description": self.meaning}


@dataclass(frozen=True, slots=True)
class OrderField:
    name: str
    question: Question
    #: bool, int, float, str, list or dict, without limits
    kind: type
    #: whether a line of a table is divided at its last separator: its values are numbers or
    #: choices, which contain none
    is_divided_last: bool
    default: Any
    #: whether a number may be less than 0
    is_signed: bool

    @property
    def input(self) -> str:
        """The name of the field in the form, which contains the form's unit."""
        unit = self.question.unit
        return self.name.removesuffix(unit.of_order) + unit.of_form if unit else self.name

    def halves(self, line: str, mark: str) -> tuple[str, str]:
        """Name and value in a line of a table. A name may contain the separator if a value
        cannot.
        """
        split = line.rpartition if self.is_divided_last else line.partition
        name, _, value = split(mark)
        return name.strip(), value.strip()


def fields_of(part: type[BaseModel]) -> tuple[OrderField, ...]:
    """The fields of an order, or of a part of it, in order."""
    return tuple(_order_field(name, info) for name, info in part.model_fields.items())


def _order_field(name: str, info: FieldInfo) -> OrderField:
    question = next(item for item in info.metadata if isinstance(item, Question))
    kind, is_divided_last = _type_of_annotation(info.annotation)
    is_signed = any(getattr(item, "ge", 0) < 0 for item in info.metadata)
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    return OrderField(name, question, kind, is_divided_last, default, is_signed)


def _type_of_annotation(annotation: Any) -> tuple[type, bool]:
    """The type without limits, and whether a value of it contains no separator: a number or a
    choice, or for a table its values.
    """
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_of_annotation(inner[0])
    if origin in (Union, UnionType):
        return _type_of_annotation(next(one for one in inner if one is not type(None)))
    if origin is Literal:
        return str, True
    if origin is dict:
        return dict, _type_of_annotation(inner[1])[1]
    kind = origin or annotation
    return (str, False) if issubclass(kind, str) else (kind, kind in (int, float))


def format_value(value: object) -> str:
    """A field's value in the words of an edit: lists and tables entry by entry, and *no limit* for
    an empty limit.
    """
    if isinstance(value, list):
        return beginning_of_list([str(entry) for entry in value], TOLD) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {text}" for name, text in value.items()) or "none"
    return "no limit" if value is None else str(value)
