"""`/api/pools`: the bank as it stands, and its limits."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's decorator.

import json
from typing import Annotated, Any

from django.contrib.admin.models import CHANGE, LogEntry
from ninja import Body, Router

from allocation import selectors
from allocation.api.schemas import (
    Asking,
    BlockerOut,
    Capacity,
    PoolDetail,
    PoolId,
    PoolList,
    PoolOut,
    ProcessOut,
    Resource,
    Step,
    WaitOut,
    needs,
)
from allocation.errors import UnknownPool
from allocation.models import Pool
from allocation.services import set_capacity
from allocation.snapshot import BankView

pools = Router()


@pools.get("", response=PoolList, summary="List the pools")
@needs("allocation.view_pool")
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
@needs("allocation.view_pool")
def show(request: Asking, pool_id: PoolId) -> PoolDetail:
    return _detail(selectors.bank_view(pool_id))


@pools.patch("/{pool_id}", response=PoolDetail, summary="Change capacities; whoever waits for more is served at once")
@needs("allocation.change_pool")
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
