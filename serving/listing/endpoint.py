"""The endpoint of a list: its parameters, its description and its answer, of what the list says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal, TypeVar

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import create_model

from serving.listing.row_list import Ask, ListFilter, RowList
from serving.schemas import Schema

Row = TypeVar("Row")
#: PostgreSQL keeps no NUL
TEXT = r"^[^\x00]*$"
LONGEST = 300
Key = Annotated[str, Query(max_length=5000, pattern=TEXT, description="`next` of the page before")]
Number = Annotated[
    int | None,
    Query(ge=0, le=2**63 - 1, description="`next` of the previous page; omit it for the first"),
]
Limit = Annotated[int, Query(ge=1, le=200, description="rows per page")]
Guard = Callable[[Callable[..., Any]], Callable[..., Any]]


def add_list(
    router: Router,
    path: str,
    rows: RowList[Row],
    *,
    name: str,
    summary: str,
    about: str = "",
    guard: Guard,
    subject: Sequence[Parameter],
    asked_of: Callable[..., Ask],
) -> None:
    """Let a router answer GET with pages of a list.

    name: of the operation. subject: the parameters that say whose list it is; `asked_of` is called
    with their values.
    """

    def view(request: HttpRequest, **given: Any) -> dict[str, Any]:
        ask = asked_of(*(given.pop(one.name) for one in subject))
        most, after, sort = given.pop("limit"), given.pop("cursor"), given.pop("sort", "")
        found, following = rows.page(ask, given, sort=sort, after=str(after or ""), most=most)
        return {"items": found, "next": following}

    view.__name__, view.__doc__ = name, about
    vars(view)["__signature__"] = Signature(
        [_parameter("request", HttpRequest), *subject, *_asked(rows)]
    )
    number_or_text = int if rows.goes_by_number else str
    fields: dict[str, Any] = {
        "items": (list[rows.row], ...),  # type: ignore[name-defined]
        "next": (number_or_text | None, ...),
    }
    answer = create_model(f"{rows.row.__name__}List", __base__=Schema, **fields)
    router.get(path, response=answer, summary=summary)(guard(view))


def _asked(rows: RowList[Any]) -> list[Parameter]:
    asked = [_of_filter(one) for one in rows.filters]
    if rows.first_sort:
        sort = Annotated[
            Literal[*rows.sorts],  # type: ignore[valid-type]
            Query(description="the column, the largest first"),
        ]
        asked.insert(0, _parameter("sort", sort, rows.first_sort))
    kind, none = (Number, None) if rows.goes_by_number else (Key, "")
    cursor = _parameter("cursor", kind, none)
    return [*asked, cursor, _parameter("limit", Limit, 50)]


def _of_filter(one: ListFilter) -> Parameter:
    if one.choices:
        kind = Annotated[
            Literal[*one.choices],  # type: ignore[valid-type]
            Query(description=one.meaning),
        ]
        return _parameter(one.name, kind, one.choices[0])
    pattern = f"^({one.pattern})?$" if one.pattern else TEXT
    told = {"description": one.meaning} if one.meaning else {}
    text = Annotated[str, Query(max_length=LONGEST, pattern=pattern, **told)]
    return _parameter(one.name, text, "")


def _parameter(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
