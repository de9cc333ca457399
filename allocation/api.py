"""`/api/pools` and `/api/banker`: the bank as it stands, its limits, and what the algorithm says of any state."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's decorator.

import json
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Body, Path, Router, Schema
from ninja.errors import HttpError
from pydantic import ConfigDict, Field

from allocation import selectors
from allocation.banker import State
from allocation.checking import Answer, check, check_request
from allocation.errors import UnknownPool
from allocation.models import Pool
from allocation.services import set_capacity
from allocation.snapshot import BankView

pools = Router()
banker = Router()

V = TypeVar("V")
PoolId = Annotated[int, Path(ge=1, le=2**63 - 1)]
Units = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
MOST_PROCESSES, MOST_CLASSES = 1000, 50
Vector = Annotated[list[Units], Field(max_length=MOST_CLASSES)]
Matrix = Annotated[list[Vector], Field(max_length=MOST_PROCESSES)]


class Asking(HttpRequest):
    """A request as endpoints get it: somebody is logged in."""

    user: User


def _needs(permission: str) -> Callable[[V], V]:
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


@pools.get("", response=PoolList, summary="List the pools")
@_needs("allocation.view_pool")
def index(request: Asking) -> dict[str, Any]:
    rows = Pool.objects.prefetch_related("classes").order_by("pk")
    return {
        "items": [
            PoolOut(
                id=pool.pk,
                name=pool.name,
                policy=pool.policy,
                resources=[Resource(key=one.key, unit=one.unit, sentence=one.sentence) for one in pool.classes.all()],
                available=pool.available,
                capacity=pool.capacity,
            )
            for pool in rows
        ]
    }


@pools.get("/{pool_id}", response=PoolDetail, summary="A pool: its matrices, the proof that it is safe, and every wait explained")
@_needs("allocation.view_pool")
def show(request: Asking, pool_id: PoolId) -> PoolDetail:
    return _detail(selectors.bank_view(pool_id))


@pools.patch("/{pool_id}", response=PoolDetail, summary="Change capacities; whoever waits for more is served at once")
@_needs("allocation.change_pool")
def change(request: Asking, pool_id: PoolId, limits: Annotated[Capacity, Body()]) -> PoolDetail:
    """Refused if more is in use or claimed, or if not every process could be sure to finish. Then nothing has changed."""
    pool = Pool.objects.filter(pk=pool_id).first()
    if pool is None:
        raise UnknownPool(pool=pool_id)
    before = dict(zip(pool.classes.values_list("key", flat=True), pool.capacity, strict=True))
    set_capacity(pool=pool_id, capacity=limits.capacity)
    changes = {key: [before[key], units] for key, units in limits.capacity.items() if before[key] != units}
    message = json.dumps({"action": "changed the capacity", "changes": changes})
    LogEntry.objects.log_actions(request.user.pk, [pool], CHANGE, message, single_object=True)
    return _detail(selectors.bank_view(pool_id))


@banker.post("/check", response=AnswerOut, summary="What the Banker's algorithm says of a state that you make up")
@_needs("allocation.view_pool")
def ask(request: Asking, question: Annotated[Question, Body()]) -> AnswerOut:
    """Nothing is kept and nothing changes. `process` and `request` go together."""
    if (question.process is None) != (question.request is None):
        raise HttpError(422, "process and request go together; give both, or neither.")
    try:
        state = State.from_arrays(question.available, question.maximum, question.allocation)
        if question.process is None or question.request is None:
            return _answer(check(state))
        return _answer(check_request(state, question.process, question.request))
    except (ValueError, IndexError) as error:
        raise HttpError(422, f"{error}.") from error


def _answer(answer: Answer) -> AnswerOut:
    steps = None
    if answer.sequence is not None and answer.work is not None:
        steps = [Step(process=i, work=list(work)) for i, work in zip(answer.sequence, answer.work, strict=False)]
    return AnswerOut(
        verdict=answer.verdict,
        is_safe=answer.is_safe,
        safe_sequence=None if answer.sequence is None else list(answer.sequence),
        steps=steps,
        reason=answer.reason,
    )


def _detail(view: BankView) -> PoolDetail:
    sequence = view.safe_sequence
    return PoolDetail(
        id=view.id,
        name=view.name,
        policy=view.policy,
        resources=[Resource(key=one.key, unit=one.unit, sentence=one.sentence) for one in view.resources],
        available=[one.available for one in view.resources],
        capacity=[one.capacity for one in view.resources],
        processes=[
            ProcessOut(id=p.id, name=p.label, maximum=list(p.maximum), allocation=list(p.allocation), need=list(p.need), state=p.state)
            for p in view.processes
        ],
        is_safe=view.is_safe,
        safe_sequence=None if sequence is None else [step.process.id for step in sequence],
        steps=None if sequence is None else [Step(process=step.process.id, work=list(step.work)) for step in sequence],
        waiting=[
            WaitOut(
                process=wait.process,
                name=wait.label,
                request=wait.request,
                kind=wait.kind,
                amounts=wait.amounts,
                verdict=wait.verdict.value,
                reason=wait.reason,
                blockers=[BlockerOut(process=b.process, name=b.label, resource=b.key, units=b.units) for b in wait.blockers],
                what_ends_it=wait.what_ends_it,
                since=wait.since,
            )
            for wait in view.waiting
        ],
    )
