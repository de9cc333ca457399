"""Arguments and results of the services: frozen values, not rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from uuid import UUID

from allocation.errors import AllocationError
from allocation.models import OutboxKind, Request, RequestKind, RequestState
from allocation.rules.banker import BankVerdict
from allocation.rules.fairness import AnyVerdict, read_verdict


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
    #: the shift of the request; None for a start that is not granted yet
    epoch: int | None
    #: a sentence; empty once granted
    reason: str

    @property
    def granted(self) -> bool:
        return self.state == RequestState.GRANTED

    @classmethod
    def from_grant(cls, request_id: UUID, grant_id: int, epoch: int) -> RequestOutcome:
        return cls(request_id, RequestState.GRANTED, BankVerdict.GRANT, grant_id, epoch, "")

    @classmethod
    def from_request(cls, request: Request) -> RequestOutcome:
        """The outcome of a request that was not rejected. Its `grant` is loaded if it is
        missing.
        """
        granted = request.state == RequestState.GRANTED
        return cls(
            request_id=request.pk,
            state=RequestState(request.state),
            verdict=read_verdict(request.verdict),
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

    STALE: the shift was over, so nothing changed, and its worker must stop.
    """

    release_id: UUID
    status: ReleaseStatus
    #: the released units by class; for REPEATED those of the first call
    amounts: Mapping[str, int]


@dataclass(frozen=True)
class Reservation:
    process: int
    #: the epoch that a release of the reservation names
    epoch: int
    until: datetime
    amounts: Mapping[str, int]


@dataclass(frozen=True)
class PoolLimits:
    """The changed limits of a pool. Missing limits and classes stay unchanged."""

    capacity: Mapping[str, int] = field(default_factory=dict)
    #: the number of last units that are left to urgent starts; processes that hold something are
    #: not affected
    reserved: Mapping[str, int] = field(default_factory=dict)
    bypass_limit: int | None = None


@dataclass(frozen=True)
class ShareLimits:
    """The reserve and the limit of a share, by class. Missing classes stay unchanged."""

    reserved: Mapping[str, int] = field(default_factory=dict)
    #: the limit of each class; None means no limit
    limits: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ProcessLimits:
    """The changed limits of a process. Missing limits and classes stay unchanged."""

    maximum: Mapping[str, int] = field(default_factory=dict)
    priority: int | None = None


@dataclass(frozen=True)
class Override:
    """The administrator who accepts an unsafe state, and the reason; both go into the ledger."""

    by: str
    reason: str


@dataclass(frozen=True)
class LimitsPreview:
    #: the error with which the change would be refused
    error: AllocationError | None = None
    #: processes that claim more than the new capacity, so that the change is impossible
    misfits: tuple[str, ...] = ()
    #: the processes that might not finish; if there are any, the change requires an override
    stuck: tuple[str, ...] = ()
    #: processes whose requests would be granted
    served: tuple[str, ...] = ()
    #: the processes whose request would still wait, in the order of their turns
    waiting: tuple[str, ...] = ()
    #: the shares of the processes in `waiting`
    waiting_shares: tuple[str, ...] = ()
    #: the processes that could get everything at once now, but would have to wait after the change
    would_wait: tuple[str, ...] = ()
    #: the shares of the processes in `would_wait`
    would_wait_shares: tuple[str, ...] = ()

    @property
    def refused(self) -> str:
        """The sentence with which the change would be refused; empty if it would not be."""
        return self.error.field_message if self.error else ""


@dataclass(frozen=True)
class ReapedShift:
    """A shift whose lease expired."""

    process: int
    run_ref: str
    #: the epoch that was lost
    epoch: int
    label: str


@dataclass(frozen=True)
class OutboxMessage:
    """An action that the owner of the processes is asked to take, at least once."""

    id: int
    kind: OutboxKind
    pool: int
    process: int | None
    run_ref: str
    epoch: int | None
    is_experiment: bool
    #: the classes that the process claims
    claimed: frozenset[str] = frozenset()
