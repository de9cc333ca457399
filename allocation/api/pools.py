"""`/api/v1/pools`: pools as they stand."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from typing import Any

from ninja import Router

from allocation import selectors
from allocation.api.details import detail
from allocation.api.schemas import PoolDetail, PoolId, PoolList, PoolOut, Resource
from allocation.models import Pool
from serving.access import AuthenticatedRequest, needs

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
    return detail(selectors.bank_view(pool_id))
