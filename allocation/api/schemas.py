"""Requests and answers of the endpoints of pools."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated
from uuid import UUID

from ninja import Path
from pydantic import ConfigDict, Field

from allocation.whatif.sandbox import MOST_CLASSES, MOST_LETTERS, MOST_PROCESSES, MOST_UNITS
from serving.schemas import Schema

PoolId = Annotated[int, Path(ge=1, le=2**63 - 1)]
Units = Annotated[int, Field(ge=0, le=MOST_UNITS, strict=True)]
Name = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]
Vector = Annotated[list[Units], Field(max_length=MOST_CLASSES)]
UnitsByClass = Annotated[dict[str, Units], Field(min_length=1, max_length=MOST_CLASSES)]
ShareId = Annotated[int, Path(ge=1, le=2**63 - 1)]
ProcessId = Annotated[int, Path(ge=1, le=2**63 - 1)]
#: PostgreSQL stores no NUL, and a page shows no control character
NO_CONTROLS = r"^[^\x00-\x1f\x7f]+$"
Matrix = Annotated[list[Vector], Field(max_length=MOST_PROCESSES)]


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
    reserved: list[int] = Field(description="last units of each class, reserved for urgent starts")
    bypass_limit: int = Field(
        description="times that the first in line may be overtaken by processes without units"
    )


class PoolList(Schema):
    items: list[PoolOut]


class PastProcessOut(Schema):
    """A process's rows of the matrices, as they are or were."""

    id: int
    name: str
    maximum: list[int]
    allocation: list[int]
    need: list[int]
    state: str = Field(description="holding, waiting, idle or reserved")


class ProcessOut(PastProcessOut):
    priority: int
    share: int | None


class SafeStepOut(Schema):
    """The Work available to a process of the safe sequence, with which it can finish."""

    process: int
    work: list[int]


class ShortOut(Schema):
    """A class with too few free units, and the number of missing units."""

    resource: str
    units: int


class BlockerOut(Schema):
    process: int
    name: str
    resource: str
    units: int
    since: datetime | None


class StuckProcessOut(Schema):
    """A process that could not be sure to finish after the grant, and the classes that it could be
    stuck on.
    """

    process: int
    name: str
    resources: list[str]


class EstimateOut(Schema):
    """`sentence` has the assumptions of the estimate, or why there is none."""

    seconds: float | None
    sentence: str


class HolderReleaseOut(Schema):
    """A process that would have to pause, and the units it would release."""

    process: int
    name: str
    amounts: dict[str, int]
    seconds_sooner: float | None = Field(
        description="seconds before the usual end of its work session; null: unknown"
    )


class WaitOut(Schema):
    process: int
    name: str
    request: UUID
    kind: str
    amounts: dict[str, int]
    verdict: str = Field(
        description="wait_unavailable, wait_unsafe, wait_turn, wait_reserved or wait_share; "
        "grant if it can be granted now"
    )
    reason: str
    short: list[ShortOut]
    blockers: list[BlockerOut]
    would_be_stuck: list[StuckProcessOut]
    what_ends_it: str
    estimate: EstimateOut
    since: datetime
    deadline: datetime | None
    position: int = Field(description="in line, from 1")
    bypassed: int = Field(description="times that it was overtaken")
    cheapest_release: list[HolderReleaseOut] = Field(
        description="the fewest processes whose release would end the wait, and of those the "
        "ones with the smallest part of the pool; empty: there are none, or the request is "
        "further back in line"
    )


class ShareOut(Schema):
    """A team's share of a pool. Vectors are in the order of `resources`."""

    id: int
    ref: str
    name: str
    held: list[int]
    claimed: list[int] = Field(description="Max of its processes that hold units")
    reserved: list[int] = Field(description="units reserved for its own processes")
    limits: list[int | None] = Field(description="limit of `claimed`; null: no limit")


class PoolDetail(PoolOut):
    shares: list[ShareOut]
    processes: list[ProcessOut]
    is_safe: bool
    safe_sequence: list[int] | None = Field(
        description="ids of processes; null if the state is unsafe"
    )
    steps: list[SafeStepOut] | None
    waiting: list[WaitOut]


class OverrideIn(Schema):
    """Puts an unsafe change through; without it such a change is refused."""

    override: bool = Field(
        False, strict=True, description="make the change even if it is unsafe; needs a reason"
    )
    reason: str = Field(
        "",
        max_length=200,
        description="reason of the override, recorded and shown on every page until the state is "
        "safe",
    )


class LimitsIn(OverrideIn):
    """Fields and classes that are not given stay unchanged."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"capacity": {"bandwidth": 204800}, "bypass_limit": 10}]},
    )
    capacity: UnitsByClass | None = Field(None, description="units that exist")
    reserved: UnitsByClass | None = Field(None, description="units reserved for urgent starts")
    bypass_limit: Annotated[int, Field(ge=0, le=10_000, strict=True)] | None = None


class ProcessLimitsIn(OverrideIn):
    """Fields and classes that are not given stay unchanged."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"claim": {"bandwidth": 20480}, "priority": 5}]},
    )
    claim: UnitsByClass | None = Field(None, description="most units that it may ever hold (Max)")
    priority: Annotated[int, Field(ge=-10, le=10, strict=True)] | None = None


class ShareIn(Schema):
    """Fields and classes that are not given stay unchanged."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"limits": {"fetch_slots": 16, "bandwidth": None}, "reserved": {}}]
        },
    )
    reserved: Annotated[dict[str, Units], Field(max_length=MOST_CLASSES)] = Field(
        default_factory=dict, description="units reserved for its own processes"
    )
    limits: Annotated[dict[str, Units | None], Field(max_length=MOST_CLASSES)] = Field(
        default_factory=dict,
        description="most that its running processes may claim; null: no limit",
    )


class ClassIn(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "key": "browsers",
                    "unit": "windows",
                    "sentence": "Pages drawn at once.",
                    "capacity": 4,
                }
            ]
        },
    )
    key: str = Field(min_length=1, max_length=40, pattern=r"^[-a-zA-Z0-9_]+$")
    unit: str = Field(min_length=1, max_length=40, pattern=NO_CONTROLS)
    sentence: str = Field(min_length=1, max_length=300, pattern=NO_CONTROLS)
    capacity: Units


class PoolIn(Schema):
    """A new pool: its name, and its classes in their order."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "press",
                    "capacity": {
                        "worker": 2,
                        "fetch_slots": 16,
                        "bandwidth": 51200,
                        "memory": 512,
                        "dns_slots": 8,
                        "archive_writers": 1,
                    },
                }
            ]
        },
    )
    name: str = Field(min_length=1, max_length=100, pattern=NO_CONTROLS)
    capacity: UnitsByClass = Field(
        description="units of every class; the classes are those of the default pool"
    )


class LimitsPreviewOut(Schema):
    """The effect of a change that was not made. Processes by name."""

    allowed: bool
    reason: str = Field(description="why it would be refused")
    would_be_refused: list[str] = Field(
        description="processes that claim more than the new capacity"
    )
    would_be_unsafe: list[str] = Field(
        description="processes that might never finish; an override allows it"
    )
    would_wait: list[str] = Field(
        description="processes whose whole Need is available now, and would not be"
    )
    would_wait_shares: list[str] = Field(description="teams of those processes")
    would_go_on_waiting: list[str] = Field(
        description="processes whose requests would still wait, in order"
    )
    would_go_on_waiting_shares: list[str] = Field(description="teams of those processes")
    would_be_served: list[str] = Field(description="processes whose requests would be granted")


class SafetyQuestion(Schema):
    """A state, and optionally a request.

    Rows are processes, counted from 0; columns are classes.
    """

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
    classes: Annotated[list[Name], Field(max_length=MOST_CLASSES)] | None = Field(
        None, description="names of the columns, optional"
    )
    processes: Annotated[list[Name], Field(max_length=MOST_PROCESSES)] | None = Field(
        None, description="names of the rows, optional"
    )
    available: Annotated[list[Units], Field(min_length=1, max_length=MOST_CLASSES)]
    maximum: Matrix
    allocation: Matrix
    process: Annotated[int, Field(ge=0, lt=MOST_PROCESSES, strict=True)] | None = None
    request: Vector | None = None


class AnswerOut(Schema):
    """`is_safe`, `safe_sequence` and `steps` describe the state after the request was granted, if
    it could be; else the given state.
    """

    verdict: str | None = Field(
        description="grant, wait_unavailable, wait_unsafe or exceeds_need; null without a request"
    )
    is_safe: bool
    safe_sequence: list[int] | None
    steps: list[SafeStepOut] | None
    reason: str


class WhatIfStep(Schema):
    """The Work available to a process of the safe sequence, with which it can finish."""

    process: int | str = Field(description="its id, or the name under which it was added")
    work: list[int]


class WhatIfOut(Schema):
    """As for `/banker/check`: the state after the request was granted, if it could be; else the
    state without it.
    """

    verdict: str | None = Field(
        description="grant, wait_unavailable, wait_unsafe or exceeds_need; null without a request"
    )
    is_safe: bool
    safe_sequence: list[int | str] | None = Field(
        description="ids of live processes and names of added ones; null if the state is unsafe"
    )
    steps: list[WhatIfStep] | None
    reason: str
