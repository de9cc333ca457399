"""`/api/v1/pools`: pools in their current state, and the answer about one pool as all endpoints
give it.
"""

from typing import Any

from ninja import Router

from allocation import selectors
from allocation.api.schemas import (
    BlockerOut,
    EstimateOut,
    HolderReleaseOut,
    PoolDetail,
    PoolId,
    PoolList,
    PoolOut,
    ProcessOut,
    Resource,
    SafeStepOut,
    ShareOut,
    ShortOut,
    StuckProcessOut,
    WaitOut,
)
from allocation.models import Pool
from allocation.snapshot import BankView, ProcessRow, ShareRow, WaitRow
from serving.access import AuthenticatedRequest, needs

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.


pools = Router()


@pools.get("", response=PoolList, summary="List the pools")
@needs("allocation.view_pool")
def list_pools(request: AuthenticatedRequest) -> dict[str, Any]:
    rows = Pool.objects.prefetch_related("classes").order_by("pk")
    return {
        "items": [
            PoolOut(
                id=pool.pk,
                name=pool.name,
                policy=pool.policy,
                resources=[
                    Resource(key=one.key, unit=one.unit, sentence=one.sentence)
                    for one in pool.classes.all()
                ],
                available=pool.available,
                capacity=pool.capacity,
                reserved=pool.reserved,
                bypass_limit=pool.bypass_limit,
            )
            for pool in rows
        ]
    }


@pools.get(
    "/{pool_id}",
    response=PoolDetail,
    summary="Get a pool: its matrices, the proof of safety, and explained waits",
)
@needs("allocation.view_pool")
def get_pool(request: AuthenticatedRequest, pool_id: PoolId) -> PoolDetail:
    return pool_detail(selectors.bank_view(pool_id))


def pool_detail(view: BankView) -> PoolDetail:
    sequence = view.safe_sequence
    return PoolDetail(
        id=view.id,
        name=view.name,
        policy=view.policy,
        resources=[
            Resource(key=one.key, unit=one.unit, sentence=one.sentence) for one in view.resources
        ],
        available=[one.available for one in view.resources],
        capacity=[one.capacity for one in view.resources],
        reserved=[one.reserved for one in view.resources],
        bypass_limit=view.bypass_limit,
        shares=[_share_out(share) for share in view.shares],
        processes=[_process_out(process) for process in view.processes],
        is_safe=view.is_safe,
        safe_sequence=None if sequence is None else [step.process.id for step in sequence],
        steps=None
        if sequence is None
        else [SafeStepOut(process=step.process.id, work=list(step.work)) for step in sequence],
        waiting=[wait_out(wait) for wait in view.waiting],
    )


def _process_out(process: ProcessRow) -> ProcessOut:
    return ProcessOut(
        id=process.id,
        name=process.label,
        maximum=list(process.maximum),
        allocation=list(process.allocation),
        need=list(process.need),
        state=process.state,
        priority=process.priority,
        share=process.share,
    )


def _share_out(share: ShareRow) -> ShareOut:
    return ShareOut(
        id=share.id,
        ref=share.ref,
        name=share.name,
        held=list(share.held),
        claimed=list(share.claimed),
        reserved=list(share.reserved),
        limits=share.own_limits,
    )


def wait_out(wait: WaitRow) -> WaitOut:
    return WaitOut(
        process=wait.process,
        name=wait.label,
        request=wait.request,
        kind=wait.kind,
        amounts=wait.amounts,
        verdict=wait.verdict.value,
        reason=wait.reason,
        short=[ShortOut(resource=one.key, units=one.units) for one in wait.short],
        blockers=[
            BlockerOut(
                process=b.process, name=b.label, resource=b.key, units=b.units, since=b.since
            )
            for b in wait.blockers
        ],
        would_be_stuck=[
            StuckProcessOut(process=one.process, name=one.label, resources=list(one.keys))
            for one in wait.stuck
        ],
        what_ends_it=wait.what_ends_it,
        estimate=EstimateOut(seconds=wait.estimate.seconds, sentence=wait.estimate.sentence),
        since=wait.since,
        deadline=wait.deadline,
        position=wait.position,
        bypassed=wait.bypassed,
        cheapest_release=[
            HolderReleaseOut(
                process=one.process,
                name=one.label,
                amounts=one.amounts,
                seconds_sooner=one.seconds_sooner,
            )
            for one in wait.release
        ],
    )
