"""Every write to a pool. All functions take keyword arguments and run in their own transaction."""

from allocation.history.checkpoints import keep_checkpoints
from allocation.history.wait_counts import keep_wait_counts
from allocation.models import RequestKind
from allocation.services.bank import GRANTS_CHANNEL
from allocation.services.grants_on_release import grant_waiting_requests_of_pool
from allocation.services.leases import is_holder, reap_expired, renew_lease, take_lease
from allocation.services.limits import (
    change_claim,
    change_limits,
    change_process,
    set_capacity,
)
from allocation.services.messages import forget_sent, mark_sent, unsent_outbox
from allocation.services.pools import (
    add_resource_class,
    create_pool,
    create_pool_like,
    register_process,
)
from allocation.services.previews import preview_limits, preview_process, preview_share
from allocation.services.releases import finish_process, release_resources
from allocation.services.requests import cancel_request, request_resources
from allocation.services.reservations import check_keep_seconds, keep_resources, resume_kept
from allocation.services.shares import change_share, ensure_share
from allocation.services.use import forget_use, note_use
from allocation.values import (
    LimitsPreview,
    NewClass,
    OutboxMessage,
    Override,
    PoolLimits,
    ProcessLimits,
    ReapedShift,
    Released,
    ReleaseStatus,
    RequestOutcome,
    Reservation,
    ShareLimits,
)

__all__ = [
    "GRANTS_CHANNEL",
    "LimitsPreview",
    "NewClass",
    "OutboxMessage",
    "Override",
    "PoolLimits",
    "ProcessLimits",
    "ReapedShift",
    "ReleaseStatus",
    "Released",
    "RequestKind",
    "RequestOutcome",
    "Reservation",
    "ShareLimits",
    "add_resource_class",
    "cancel_request",
    "change_claim",
    "change_limits",
    "change_process",
    "change_share",
    "check_keep_seconds",
    "create_pool",
    "create_pool_like",
    "ensure_share",
    "finish_process",
    "forget_sent",
    "forget_use",
    "grant_waiting_requests_of_pool",
    "is_holder",
    "keep_checkpoints",
    "keep_resources",
    "keep_wait_counts",
    "mark_sent",
    "note_use",
    "preview_limits",
    "preview_process",
    "preview_share",
    "reap_expired",
    "register_process",
    "release_resources",
    "renew_lease",
    "request_resources",
    "resume_kept",
    "set_capacity",
    "take_lease",
    "unsent_outbox",
]
