"""What the bank's endpoints take and answer."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's decorator.

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, TypeVar, cast
from uuid import UUID

from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Path, Schema
from pydantic import ConfigDict, Field

from allocation.whatif.sandbox import MOST_CLASSES, MOST_LETTERS, MOST_PROCESSES, MOST_UNITS

V = TypeVar("V")
PoolId = Annotated[int, Path(ge=1, le=2**63 - 1)]
Units = Annotated[int, Field(ge=0, le=MOST_UNITS, strict=True)]
Name = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]
Vector = Annotated[list[Units], Field(max_length=MOST_CLASSES)]
Matrix = Annotated[list[Vector], Field(max_length=MOST_PROCESSES)]


class Asking(HttpRequest):
    """A request as endpoints get it: somebody is logged in."""

    user: User


def needs(permission: str) -> Callable[[V], V]:
    """Django's own check. (Its types know only views that answer an HttpResponse.)"""
    return cast("Callable[[V], V]", permission_required(permission, raise_exception=True))


class Resource(Schema):
    key: str
    unit: str
    sentence: str


class PoolOut(Schema):
    """Vectors are in the order of `resources`."""

    id: int
    name: str
    policy: str
    resources: list[Resource]
    available: list[int]
    capacity: list[int]


class PoolList(Schema):
    items: list[PoolOut]


class ProcessOut(Schema):
    id: int
    name: str
    maximum: list[int]
    allocation: list[int]
    need: list[int]
    state: str = Field(description="holding, waiting or idle")


class Step(Schema):
    """The Work that a process of the safe sequence finds; then it can finish."""

    process: int
    work: list[int]


class BlockerOut(Schema):
    process: int
    name: str
    resource: str
    units: int


class WaitOut(Schema):
    process: int
    name: str
    request: UUID
    kind: str
    amounts: dict[str, int]
    verdict: str
    reason: str
    blockers: list[BlockerOut]
    what_ends_it: str
    since: datetime


class PoolDetail(PoolOut):
    processes: list[ProcessOut]
    is_safe: bool
    safe_sequence: list[int] | None = Field(description="ids of processes; null if the state is unsafe")
    steps: list[Step] | None
    waiting: list[WaitOut]


class Capacity(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"capacity": {"bandwidth": 204800}}]})
    capacity: dict[str, Units] = Field(min_length=1, max_length=MOST_CLASSES, description="units by class; classes left out stay")


class Question(Schema):
    """A state, and if you like a request. Rows are processes, counted from 0; columns are classes."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "available": [3, 3, 2],
                    "maximum": [[7, 5, 3], [3, 2, 2], [9, 0, 2], [2, 2, 2], [4, 3, 3]],
                    "allocation": [[0, 1, 0], [2, 0, 0], [3, 0, 2], [2, 1, 1], [0, 0, 2]],
                    "process": 1,
                    "request": [1, 0, 2],
                }
            ]
        },
    )
    classes: Annotated[list[Name], Field(max_length=MOST_CLASSES)] | None = Field(None, description="names for the columns, if you like")
    processes: Annotated[list[Name], Field(max_length=MOST_PROCESSES)] | None = Field(None, description="names for the rows, if you like")
    available: Annotated[list[Units], Field(min_length=1, max_length=MOST_CLASSES)]
    maximum: Matrix
    allocation: Matrix
    process: Annotated[int, Field(ge=0, lt=MOST_PROCESSES, strict=True)] | None = None
    request: Vector | None = None


class AnswerOut(Schema):
    """`is_safe`, `safe_sequence` and `steps` tell of the state after the request was handed out, where it could be; else of the
    state as given."""

    verdict: str | None = Field(description="grant, wait_unavailable, wait_unsafe or exceeds_need; null without a request")
    is_safe: bool
    safe_sequence: list[int] | None
    steps: list[Step] | None
    reason: str


class WhatIfStep(Schema):
    """The Work that a process of the safe sequence finds; then it can finish."""

    process: int | str = Field(description="its id, or the name under which it was added")
    work: list[int]


class WhatIfOut(Schema):
    """As of `/banker/check`: of the state after the request was handed out, where it could be; else of the state without it."""

    verdict: str | None = Field(description="grant, wait_unavailable, wait_unsafe or exceeds_need; null without a request")
    is_safe: bool
    safe_sequence: list[int | str] | None = Field(description="ids of live processes and names of added ones; null if the state is unsafe")
    steps: list[WhatIfStep] | None
    reason: str
