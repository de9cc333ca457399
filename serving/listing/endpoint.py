"""The endpoint of a list: its parameters, its description and its answer, made from the definition
of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import create_model

from serving.listing.row_list import ListFilter
from serving.schemas import Schema

#: PostgreSQL cannot store NUL
TEXT = r"^[^\x00]*$"
LONGEST = 300
PLACE = "`next` of the previous page; omit it for the first"
Number = Annotated[int | None, Query(ge=0, le=2**63 - 1, description=PLACE)]
Limit = Annotated[int, Query(ge=1, le=200, description="rows per page")]
View = Callable[..., Any]


class AnyList(Protocol):
    """A list that an endpoint shows: a RowList, or one of `serving.listing.sources`."""

    @property
    def row(self) -> type[Any]: ...
    @property
    def filters(self) -> tuple[ListFilter, ...]: ...
    @property
    def first_sort(self) -> str: ...
    @property
    def sorts(self) -> tuple[str, ...]: ...
    @property
    def goes_by_number(self) -> bool: ...

    def page(
        self, source: Any, wanted: Mapping[str, str], *, sort: str = "", after: str = "", most: int
    ) -> tuple[list[Any], Any]: ...


class ListAnswer(NamedTuple):
    """An answer that has more than the rows."""

    #: the source from which the rows are read
    source: Any
    #: called after the rows are read
    facts: Callable[[], Mapping[str, Any]]


def listed(
    router: Router,
    path: str,
    rows: AnyList,
    *,
    summary: str,
    beside: type[Schema] = Schema,
    usual: int = 50,
    longest_key: int = 5000,
) -> Callable[[View], View]:
    """Let a router answer GET with pages of a list. Rows are read from what the view returns: a
    source of the list, or a ListAnswer with the facts that the schema `beside` describes.

    The view has the parameters that say whose list it is; those of the list come after them.
    """

    def answering(view: View) -> View:
        @wraps(view)
        def page(request: HttpRequest, **given: Any) -> dict[str, Any]:
            asked = {name: given.pop(name) for name in own}
            most, after, sort = given.pop("limit"), given.pop("cursor"), given.pop("sort", "")
            source = view(request, **asked)
            source, facts = source if isinstance(source, ListAnswer) else (source, dict)
            after = "" if after is None else str(after)
            found, following = rows.page(source, given, sort=sort, after=after, most=most)
            return {**facts(), "items": found, "next": following}

        told = signature(view)
        own = [name for name in told.parameters if name != "request"]
        parameters = [*told.parameters.values(), *_parameters_of(rows, usual, longest_key)]
        vars(page)["__signature__"] = told.replace(parameters=parameters)
        return router.get(path, response=_answer(rows, beside), summary=summary)(page)

    return answering


def _answer(rows: AnyList, beside: type[Schema]) -> type[Schema]:
    fields: dict[str, Any] = {
        "items": (list[rows.row], ...),  # type: ignore[name-defined]
        "next": ((int if rows.goes_by_number else str) | None, ...),
    }
    unsaid = {name: field for name, field in fields.items() if name not in beside.model_fields}
    return create_model(f"{rows.row.__name__}List", __base__=beside, **unsaid)


def _parameters_of(rows: AnyList, usual: int, longest_key: int) -> list[Parameter]:
    asked = [_of_filter(one) for one in rows.filters]
    if rows.first_sort:
        sort = Annotated[
            Literal[*rows.sorts],  # type: ignore[valid-type]
            Query(description="the column, the largest first"),
        ]
        asked.insert(0, _parameter("sort", sort, rows.first_sort))
    told = Query(max_length=longest_key, pattern=TEXT, description=PLACE)
    key, none = (Number, None) if rows.goes_by_number else (Annotated[str, told], "")
    cursor = _parameter("cursor", key, none)
    return [*asked, cursor, _parameter("limit", Limit, usual)]


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


def _parameter(name: str, kind: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
