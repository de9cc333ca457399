"""`PATCH /api/v1/pools/{id}` and below: limits, edited while crawls run, and previews of edits."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

import json
from typing import Annotated

from django.contrib.admin.models import CHANGE, LogEntry
from ninja import Body
from ninja.errors import HttpError
from ninja.responses import Status

from allocation import selectors
from allocation.api.pools import pool_detail, pools
from allocation.api.schemas import (
    ClassIn,
    LimitsIn,
    LimitsPreviewOut,
    PoolDetail,
    PoolId,
    PoolIn,
    ProcessId,
    ProcessLimitsIn,
    ShareId,
    ShareIn,
)
from allocation.errors import UnknownPool, UnknownProcess, UnknownShare
from allocation.models import Pool, Process, Share
from allocation.services import (
    LimitsPreview,
    NewClass,
    Override,
    PoolLimits,
    ProcessLimits,
    ShareLimits,
    add_resource_class,
    change_limits,
    change_process,
    change_share,
    create_pool_like,
    preview_limits,
    preview_process,
    preview_share,
)
from serving.access import AuthenticatedRequest, needs

#: the router in `pools`, since an address belongs to one router, whatever its methods
__all__ = ["pools"]


@pools.post("", response={201: PoolDetail}, summary="Create a pool")
@needs("allocation.change_pool")
def create_resource_pool(
    request: AuthenticatedRequest, new: Annotated[PoolIn, Body()]
) -> Status[PoolDetail]:
    """The pool has the classes of the default pool; crawls select it by its name (`pool`)."""
    pool = create_pool_like(name=new.name, capacity=new.capacity)
    _log_change(request, pool, "created the pool", {}, {}, None)
    return Status(201, pool_detail(selectors.bank_view(pool.pk)))


@pools.patch(
    "/{pool_id}",
    response=PoolDetail | LimitsPreviewOut,
    summary="Change the limits of a pool; waiting requests that are now possible are granted at "
    "once",
)
@needs("allocation.change_pool")
def update_pool(
    request: AuthenticatedRequest,
    pool_id: PoolId,
    wanted: Annotated[LimitsIn, Body()],
    preview: bool = False,
) -> PoolDetail | LimitsPreviewOut:
    """All or nothing.

    Refused if more is in use or claimed, or if a process might never finish.

    With `preview=1` nothing changes, and the answer lists the processes that would wait, be
    refused or become unsafe. With `override` and a `reason` an unsafe change is made, and the pool
    is flagged until the state is safe again.
    """
    pool = Pool.objects.filter(pk=pool_id).first()
    if pool is None:
        raise UnknownPool(pool=pool_id)
    new = PoolLimits(wanted.capacity or {}, wanted.reserved or {}, wanted.bypass_limit)
    if new == PoolLimits():
        raise HttpError(422, "capacity, reserved or bypass_limit is required.")
    if preview:
        return _describe_preview(preview_limits(pool=pool_id, limits=new))
    override = _stated_override(request, wanted)
    changed = change_limits(pool=pool_id, limits=new, override=override)
    _log_change(
        request, pool, "changed the limits", _limits_of(pool), _limits_of(changed), override
    )
    return pool_detail(selectors.bank_view(pool_id))


@pools.patch(
    "/{pool_id}/processes/{process_id}",
    response=PoolDetail | LimitsPreviewOut,
    summary="Change a process's claim or priority",
)
@needs("allocation.change_pool")
def update_pool_process(
    request: AuthenticatedRequest,
    pool_id: PoolId,
    process_id: ProcessId,
    wanted: Annotated[ProcessLimitsIn, Body()],
    preview: bool = False,
) -> PoolDetail | LimitsPreviewOut:
    """As for the limits of a pool: checked, all or nothing, with a preview, and an override of an
    unsafe state.
    """
    process = Process.objects.filter(pk=process_id, pool=pool_id).first()
    if process is None:
        raise UnknownProcess(process=process_id)
    new = ProcessLimits(wanted.claim or {}, wanted.priority)
    if new == ProcessLimits():
        raise HttpError(422, "claim or priority is needed.")
    if preview:
        return _describe_preview(preview_process(process=process_id, limits=new))
    override = _stated_override(request, wanted)
    changed = change_process(process=process_id, limits=new, override=override)
    _log_change(
        request, process, "changed the limits", _claim_of(process), _claim_of(changed), override
    )
    return pool_detail(selectors.bank_view(pool_id))


@pools.patch(
    "/{pool_id}/shares/{share_id}",
    response=PoolDetail | LimitsPreviewOut,
    summary="Change the reserve and the limit of a team",
)
@needs("allocation.change_pool")
def update_share(
    request: AuthenticatedRequest,
    pool_id: PoolId,
    share_id: ShareId,
    wanted: Annotated[ShareIn, Body()],
    preview: bool = False,
) -> PoolDetail | LimitsPreviewOut:
    """All or nothing. A team has a share of a pool once one of its crawls has run there. With
    `preview=1` nothing changes, and the answer lists the processes that would wait.
    """
    share = Share.objects.filter(pk=share_id, pool=pool_id).first()
    if share is None:
        raise UnknownShare(share=share_id)
    new = ShareLimits(wanted.reserved, wanted.limits)
    if new == ShareLimits():
        raise HttpError(422, "reserved or limits is needed.")
    if preview:
        return _describe_preview(preview_share(share=share_id, limits=new))
    changed = change_share(share=share_id, limits=new)
    _log_change(request, share, "changed the limits", _terms_of(share), _terms_of(changed), None)
    return pool_detail(selectors.bank_view(pool_id))


@pools.post(
    "/{pool_id}/classes",
    response={201: PoolDetail},
    summary="Add a resource class to a pool that is in use",
)
@needs("allocation.change_pool")
def create_resource_class(
    request: AuthenticatedRequest, pool_id: PoolId, new: Annotated[ClassIn, Body()]
) -> Status[PoolDetail]:
    """The class is the last entry of every vector. No process claims units of it yet."""
    pool = add_resource_class(pool=pool_id, new=NewClass(**new.dict()))
    _log_change(
        request,
        pool,
        f"added the resource class {new.key}",
        {new.key: 0},
        {new.key: new.capacity},
        None,
    )
    return Status(201, pool_detail(selectors.bank_view(pool_id)))


def _stated_override(
    request: AuthenticatedRequest, wanted: LimitsIn | ProcessLimitsIn
) -> Override | None:
    if not wanted.override:
        return None
    if not wanted.reason.strip():
        raise HttpError(422, "An override takes a reason, which is recorded.")
    return Override(request.user.get_username(), wanted.reason)


def _limits_of(pool: Pool) -> dict[str, int]:
    keys = list(pool.classes.values_list("key", flat=True))
    reserved = {f"reserved {key}": units for key, units in zip(keys, pool.reserved, strict=False)}
    return (
        dict(zip(keys, pool.capacity, strict=False))
        | reserved
        | {"bypass limit": pool.bypass_limit}
    )


def _terms_of(share: Share) -> dict[str, int]:
    keys = list(share.pool.classes.values_list("key", flat=True))
    return {
        f"{what} {key}": units
        for what, vector in (("reserve", share.reserved), ("limit", share.limits))
        for key, units in zip(keys, vector, strict=False)
    }


def _claim_of(process: Process) -> dict[str, int]:
    keys = process.pool.classes.values_list("key", flat=True)
    return dict(zip(keys, process.max_claim, strict=False)) | {"priority": process.priority}


def _log_change(
    request: AuthenticatedRequest,
    row: Pool | Process | Share,
    action: str,
    old: dict[str, int],
    new: dict[str, int],
    override: Override | None,
) -> None:
    """Write to the audit log: the user, the change, and the reason for overriding the safety
    check.
    """
    said = f"{action}, an override if unsafe: {override.reason}" if override else action
    message = json.dumps(
        {
            "action": said,
            "changes": {
                name: [old[name], to] for name, to in new.items() if old.get(name, to) != to
            },
        }
    )
    LogEntry.objects.log_actions(request.user.pk, [row], CHANGE, message, single_object=True)


def _describe_preview(preview: LimitsPreview) -> LimitsPreviewOut:
    return LimitsPreviewOut(
        allowed=not preview.refused,
        reason=preview.refused,
        would_be_refused=list(preview.misfits),
        would_be_unsafe=list(preview.stuck),
        would_wait=list(preview.would_wait),
        would_wait_shares=list(preview.would_wait_shares),
        would_go_on_waiting=list(preview.waiting),
        would_go_on_waiting_shares=list(preview.waiting_shares),
        would_be_served=list(preview.served),
    )
