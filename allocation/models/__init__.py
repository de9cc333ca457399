"""The tables of pools. All writes to them go through `allocation.services`."""

from allocation.models.bank import Policy, Pool, Process, ProcessState, ResourceClass, Share
from allocation.models.dealings import Grant, Release, Request, RequestKind, RequestState
from allocation.models.ledger import (
    CAPACITY_KINDS,
    Conservation,
    Event,
    EventKind,
    LedgerCheckpoint,
    MatrixCell,
    Outbox,
    OutboxKind,
    UseMinute,
    WaitCount,
)

__all__ = [
    "CAPACITY_KINDS",
    "Conservation",
    "Event",
    "EventKind",
    "Grant",
    "LedgerCheckpoint",
    "MatrixCell",
    "Outbox",
    "OutboxKind",
    "Policy",
    "Pool",
    "Process",
    "ProcessState",
    "Release",
    "Request",
    "RequestKind",
    "RequestState",
    "ResourceClass",
    "Share",
    "UseMinute",
    "WaitCount",
]
