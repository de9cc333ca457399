"""How the fields of a row are shown: `Annotated[int, Column(…)]` in a frozen data class. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_type_hints

Row = TypeVar("Row")
NUMBERS = (int, float)


@dataclass(frozen=True)
class Column:
    #: the text for the description of the API
    meaning: str = ""
    #: the heading on pages; empty to use its name
    label: str = ""
    #: whether the list may be sorted by it, the largest first
    sorts: bool = False
    #: whether the value is a number that is shown as a text, such as a status
    is_text: bool = False
    #: whether the table has the column; a column that is only added to the rows of a page is in no
    #: file
    is_stored: bool = True
    #: the record's attribute that the column shows, such as `by.username`; empty: the column's name
    of: str = ""

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Return the description of a field with this annotation, for Pydantic."""
        schema: dict[str, Any] = handler(core)
        return {**schema, "description": self.meaning} if self.meaning else schema


class ListColumn(NamedTuple):
    name: str
    kind: type
    told: Column

    @property
    def label(self) -> str:
        return self.told.label or self.name

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS


@cache
def columns_of(row: type) -> dict[str, ListColumn]:
    """The fields of a data class, in order; a field without our annotation is described by its
    name.
    """
    hints, extras = get_type_hints(row), get_type_hints(row, include_extras=True)
    told = {
        name: next((one for one in getattr(hint, "__metadata__", ()) if type(one) is Column), None)
        for name, hint in extras.items()
    }
    return {
        one.name: ListColumn(one.name, hints[one.name], told[one.name] or Column())
        for one in fields(row)
    }


def row_of(row: type[Row], record: object) -> Row:
    """A row made from the attributes of a record. An attribute that is None becomes "" if the row
    has a text, otherwise None.
    """
    columns = columns_of(row)  # type: ignore[arg-type]  # a class is hashable
    return row(**{name: _read_value(record, one) for name, one in columns.items()})


def _read_value(record: object, column: ListColumn) -> Any:
    for name in (column.told.of or column.name).split("."):
        if record is None:
            return "" if column.kind is str else None
        record = getattr(record, name)
    return record
