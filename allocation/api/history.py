"""`/api/v1/pools/{id}/events` and `/api/v1/pools/{id}/versions/{version}`: the ledger, and the pool
as it was after any event of it.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Path, Query, Router
from pydantic import Field

from allocation.api.schemas import PastProcessOut, PoolId, Resource, SafeStepOut
from allocation.errors import UnknownPool
from allocation.history.as_of import PastBank, bank_as_of
from allocation.history.chart import SPANS, utilisation_chart
from allocation.history.listing import EventFilter, list_events
from allocation.models import Event, EventKind, Pool
from serving.access import AuthenticatedRequest, needs
from serving.schemas import Schema

history = Router()

LARGEST = 2**63 - 1
Span = Annotated[Literal[*SPANS], Query(description="how far back")]  # type: ignore[valid-type]
Version = Annotated[int, Path(ge=1, le=LARGEST)]


class EventOut(Schema):
    """Vectors are in the order of the pool's `resources`; a class that was added later may be
    missing at their end.
    """

    version: int
    kind: str
    at: datetime
    process: int | None
    name: str | None
    epoch: int | None
    request: UUID | None
    grant: int | None
    amounts: list[int]
    available_before: list[int]
    available_after: list[int]
    verdict: str
    reason: str
    sequence: list[int] = Field(description="ids of the processes that can finish, in order")


class EventPage(Schema):
    items: list[EventOut]
    next: int | None


class SampleOut(Schema):
    until: datetime
    reserved: dict[str, int] = Field(description="reserved units of each class, in percent")
    used: dict[str, int | None] = Field(
        description="average use of each class since the sample before, in percent; null: not "
        "measured"
    )
    waiting: int = Field(description="number of waiting requests")


class SampleList(Schema):
    items: list[SampleOut]


class PastWaitOut(Schema):
    request: UUID
    process: int
    name: str
    amounts: list[int]
    verdict: str
    reason: str
    since: datetime
    version: int = Field(description="the event since which it waited")


class PastPoolOut(Schema):
    """A pool after one event.

    `steps` is the proof of the decision: the Work available to each process.
    """

    id: int
    name: str
    event: EventOut
    resources: list[Resource]
    capacity: list[int]
    available: list[int]
    processes: list[PastProcessOut]
    is_safe: bool
    safe_sequence: list[int] | None
    steps: list[SafeStepOut]
    waiting: list[PastWaitOut]


@history.get(
    "/{pool_id}/samples",
    response=SampleList,
    summary="List reserved and used units by class, and waiting requests, over time",
)
@needs("allocation.view_pool")
def list_pool_samples(
    request: AuthenticatedRequest, pool_id: PoolId, span: Span = "day"
) -> dict[str, Any]:
    if not Pool.objects.filter(pk=pool_id).exists():
        raise UnknownPool(pool=pool_id)
    chart = utilisation_chart(pool_id, span)
    return {
        "items": [
            {
                "until": sample.at,
                "reserved": dict(zip(chart.names, sample.reserved, strict=True)),
                "used": dict(zip(chart.names, sample.used, strict=True)),
                "waiting": sample.waiting,
            }
            for sample in chart.samples
        ]
    }


@history.get("/{pool_id}/events", response=EventPage, summary="List events of a pool, newest first")
@needs("allocation.view_pool")
def list_pool_events(
    request: AuthenticatedRequest,
    pool_id: PoolId,
    process: Annotated[
        int | None, Query(ge=1, le=LARGEST, description="only events of this process")
    ] = None,
    kind: Annotated[EventKind | None, Query(description="only of this kind")] = None,
    cursor: Annotated[
        int | None,
        Query(ge=0, le=LARGEST, description="`next` of the previous page; omit it for the first"),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="rows per page")] = 50,
) -> dict[str, Any]:
    if not Pool.objects.filter(pk=pool_id).exists():
        raise UnknownPool(pool=pool_id)
    rows, following = list_events(
        pool_id, EventFilter(process or 0, kind.value if kind else ""), before=cursor, limit=limit
    )
    return {
        "items": [_event_out(row, row.process.label if row.process else None) for row in rows],
        "next": following,
    }


@history.get(
    "/{pool_id}/versions/{version}",
    response=PastPoolOut,
    summary="Get a pool as of an event",
)
@needs("allocation.view_pool")
def get_pool_version(
    request: AuthenticatedRequest, pool_id: PoolId, version: Version
) -> PastPoolOut:
    return _past_pool(bank_as_of(pool_id, version))


def _past_pool(then: PastBank) -> PastPoolOut:
    return PastPoolOut(
        id=then.id,
        name=then.name,
        event=_event_out(then.event, then.label or None),
        resources=[
            Resource(key=one.key, unit=one.unit, sentence=one.sentence) for one in then.resources
        ],
        capacity=[one.capacity for one in then.resources],
        available=[one.available for one in then.resources],
        processes=[
            PastProcessOut(
                id=p.id,
                name=p.label,
                maximum=list(p.maximum),
                allocation=list(p.allocation),
                need=list(p.need),
                state=p.state,
            )
            for p in then.processes
        ],
        is_safe=then.is_safe,
        safe_sequence=None if then.safe_sequence is None else list(then.safe_sequence),
        steps=[SafeStepOut(process=step.process, work=list(step.work)) for step in then.evidence],
        waiting=[
            PastWaitOut(
                request=wait.request,
                process=wait.process,
                name=wait.label,
                amounts=list(wait.amounts),
                verdict=wait.verdict,
                reason=wait.reason,
                since=wait.since,
                version=wait.version,
            )
            for wait in then.waiting
        ],
    )


def _event_out(event: Event, name: str | None) -> EventOut:
    return EventOut(
        version=event.version,
        kind=event.kind,
        at=event.at,
        process=event.process_id,
        name=name,
        epoch=event.epoch,
        request=event.request_id,
        grant=event.grant_id,
        amounts=event.amounts,
        available_before=event.available_before,
        available_after=event.available_after,
        verdict=event.verdict,
        reason=event.reason,
        sequence=event.sequence,
    )
