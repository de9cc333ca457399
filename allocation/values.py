"""Arguments and answers of the services: frozen values, no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from uuid import UUID

from allocation.errors import AllocationError
from allocation.models import OutboxKind, Request, RequestKind, RequestState
from allocation.rules.banker import BankVerdict
from allocation.rules.fairness import AnyVerdict, verdict_of


@dataclass(frozen=True)
class NewClass:
    key: str
    unit: str
    sentence: str
    capacity: int


@dataclass(frozen=True)
class RequestOutcome:
    request_id: UUID
    state: RequestState
    verdict: AnyVerdict
    grant_id: int | None
    #: the shift that the request belongs to; None for a start that has not been granted
    epoch: int | None
    #: a sentence; empty once granted
    reason: str

    @property
    def granted(self) -> bool:
        return self.state == RequestState.GRANTED

    @classmethod
    def granted_by(cls, request_id: UUID, grant_id: int, epoch: int) -> RequestOutcome:
        return cls(request_id, RequestState.GRANTED, BankVerdict.GRANT, grant_id, epoch, "")

    @classmethod
    def of(cls, request: Request) -> RequestOutcome:
        """Read the outcome of a request that was not rejected; its `grant` is loaded if not at
        hand.
        """
        granted = request.state == RequestState.GRANTED
        return cls(
            request_id=request.pk,
            state=RequestState(request.state),
            verdict=verdict_of(request.verdict),
            grant_id=request.grant.pk if granted else None,
            epoch=request.epoch if granted or request.kind != RequestKind.START else None,
            reason=request.reason,
        )


class ReleaseStatus(Enum):
    RELEASED = "released"
    REPEATED = "repeated"
    STALE = "stale"


@dataclass(frozen=True)
class Released:
    """The answer to a release.

    STALE: the shift was over, so nothing changed; its sender must stop working.
    """

    release_id: UUID
    status: ReleaseStatus
    #: the released units by class: now, or (REPEATED) when it was first sent
    amounts: Mapping[str, int]


@dataclass(frozen=True)
class Reservation:
    process: int
    #: the one that a release of the reservation names
    epoch: int
    until: datetime
    amounts: Mapping[str, int]


@dataclass(frozen=True)
class PoolLimits:
    """The changed limits of a pool; omitted limits and classes stay."""

    capacity: Mapping[str, int] = field(default_factory=dict)
    #: the last units, left to urgent starts; processes that hold something are never bound by it
    reserved: Mapping[str, int] = field(default_factory=dict)
    bypass_limit: int | None = None


@dataclass(frozen=True)
class ShareLimits:
    """The reserve and the limit of a share, by class; classes that are not named stay."""

    reserved: Mapping[str, int] = field(default_factory=dict)
    #: None: no limit
    limits: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ProcessLimits:
    """The changed limits of a process; omitted limits and classes stay."""

    maximum: Mapping[str, int] = field(default_factory=dict)
    priority: int | None = None


@dataclass(frozen=True)
class Override:
    """The administrator who accepts an unsafe state, and the reason; both go into the ledger."""

    by: str
    reason: str


@dataclass(frozen=True)
class LimitsPreview:
    #: the error with which it would be refused
    error: AllocationError | None = None
    #: processes that claim more than the new capacity, so that it cannot be done at all
    misfits: tuple[str, ...] = ()
    #: the processes that might not finish; if there are any, only an override makes the change
    stuck: tuple[str, ...] = ()
    #: processes whose requests would be granted
    served: tuple[str, ...] = ()
    #: the processes whose request would still wait, in the order of their turns
    waiting: tuple[str, ...] = ()
    #: the shares of those
    waiting_shares: tuple[str, ...] = ()
    #: the processes that could get all they may still ask for now, but then would have to wait
    would_wait: tuple[str, ...] = ()
    #: the shares of those
    would_wait_shares: tuple[str, ...] = ()

    @property
    def refused(self) -> str:
        """The sentence with which it would be, or empty."""
        return self.error.at_its_field if self.error else ""


@dataclass(frozen=True)
class ReapedShift:
    """A shift whose lease ran out."""

    process: int
    run_ref: str
    #: the one that was lost
    epoch: int
    label: str


@dataclass(frozen=True)
class OutboxMessage:
    """Something the owner of the processes is asked to do, at least once."""

    id: int
    kind: OutboxKind
    pool: int
    process: int | None
    run_ref: str
    epoch: int | None
    is_experiment: bool
