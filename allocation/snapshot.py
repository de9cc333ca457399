"""A pool at one moment: frozen values for pages, commands and programs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allocation.models import RequestKind
from allocation.reasons import Blocker, ShortClass, StuckProcess
from allocation.rules.banker import Vector
from allocation.rules.estimate import Estimate
from allocation.rules.fairness import AnyVerdict
from allocation.rules.shares import NO_LIMIT
from allocation.wording import UnitWords


@dataclass(frozen=True)
class ResourceRow:
    key: str
    unit: str
    sentence: str
    capacity: int
    available: int
    #: units that are reserved for urgent starts
    reserved: int = 0
    #: the number of held units that are used at the moment; None if that is not measured
    in_use: int | None = None

    @property
    def unit_words(self) -> UnitWords:
        return UnitWords(self.key, self.unit)

    @property
    def used(self) -> int:
        return self.capacity - self.available

    @property
    def reserved_part(self) -> str:
        """`60 of 100 MB/s`: the held units and the capacity."""
        return self.unit_words.part(self.used, self.capacity)

    @property
    def percent(self) -> int:
        """The held part of the capacity in percent, rounded down."""
        return 100 * self.used // self.capacity if self.capacity else 0

    @property
    def free_percent(self) -> int:
        """The available part of the capacity in percent, rounded up, since the held part is rounded
        down.
        """
        return 100 - self.percent if self.capacity else 0

    @property
    def in_use_percent(self) -> int:
        """The used part of the capacity in percent, rounded up, so that even a small use is
        visible.
        """
        return min(100, -(-100 * (self.in_use or 0) // self.capacity)) if self.capacity else 0


@dataclass(frozen=True)
class ProcessRow:
    id: int
    label: str
    run_ref: str
    maximum: Vector
    allocation: Vector
    need: Vector
    #: holding, waiting, idle, or reserved (its units are kept without a shift)
    state: str
    epoch: int
    lease_until: datetime | None
    worker: str
    #: the time when it began to hold units
    since: datetime | None
    #: the end of its reservation
    kept_until: datetime | None = None
    priority: int = 0
    share: int | None = None

    @property
    def cells(self) -> list[tuple[int, int, int]]:
        """Allocation, Max and Need for each class."""
        return list(zip(self.allocation, self.maximum, self.need, strict=True))


@dataclass(frozen=True)
class SafeStep:
    """One step of the safe sequence: the Work available to the process, and the Work after it has
    finished.
    """

    process: ProcessRow
    work: Vector
    work_after: Vector


@dataclass(frozen=True)
class HolderRelease:
    """The units that a process would release if it paused now."""

    process: int
    label: str
    run_ref: str
    amounts: dict[str, int]
    #: the units in words
    units: tuple[str, ...]
    #: the seconds by which the release would be earlier than after a shift of the usual length;
    #: None if unknown
    seconds_sooner: float | None


@dataclass(frozen=True)
class WaitRow:
    request: UUID
    process: int
    label: str
    kind: RequestKind
    amounts: dict[str, int]
    #: the requested amounts in words
    asked: tuple[str, ...]
    verdict: AnyVerdict
    #: `why`, followed by the names of the blockers
    reason: str
    why: str
    #: the classes with too few free units
    short: tuple[ShortClass, ...]
    #: the processes that hold scarce units
    blockers: tuple[Blocker, ...]
    #: the processes that might not finish after the grant
    stuck: tuple[StuckProcess, ...]
    what_ends_it: str
    estimate: Estimate
    since: datetime
    deadline: datetime | None
    #: the place in the order of turns, from 1
    position: int
    #: how often others were granted units ahead of its turn
    bypassed: int
    #: the releases of the fewest processes that would end the wait and hold the smallest part of
    #: the pool; empty if none would, or if they were not computed
    release: tuple[HolderRelease, ...] = ()

    @property
    def kind_of_wait(self) -> str:
        """The reason for the wait other than too few free units; empty if there is none."""
        return {
            "wait_unavailable": "",
            "wait_unsafe": "unsafe",
            "wait_turn": "out of turn",
            "wait_reserved": "reserved",
            "wait_share": "limit of its share",
        }.get(self.verdict.value, "ready")


@dataclass(frozen=True)
class ShareRow:
    """A share of a pool, by class: the units that its processes hold, the claims of those that hold
    something, its reserve and its limit.
    """

    id: int
    ref: str
    name: str
    held: Vector
    claimed: Vector
    reserved: Vector
    limits: Vector
    processes: int

    @property
    def own_limits(self) -> list[int | None]:
        """The limit for each class; None if there is none."""
        return [None if limit == NO_LIMIT else limit for limit in self.limits]


@dataclass(frozen=True)
class BankView:
    id: int
    name: str
    policy: str
    bypass_limit: int
    resources: tuple[ResourceRow, ...]
    processes: tuple[ProcessRow, ...]
    is_safe: bool
    #: the safe sequence, without reserved and held-off processes; None if the state is unsafe
    safe_sequence: tuple[SafeStep, ...] | None
    #: the processes that might not finish, if the state is unsafe
    stuck: tuple[ProcessRow, ...]
    waiting: tuple[WaitRow, ...]
    #: the processes of `stuck` that are deadlocked: each waits for units of another one
    deadlocked: tuple[ProcessRow, ...] = ()
    #: the processes whose units are reserved
    reserved: tuple[ProcessRow, ...] = ()
    #: processes that hold nothing and claim more than is free besides the reservations. They are
    #: not stuck, but are served only after a reservation has ended
    held_off: tuple[ProcessRow, ...] = ()
    shares: tuple[ShareRow, ...] = ()

    @property
    def waiting_runs(self) -> int:
        """The number of waiting runs: a request of one of a run's processes waits, and none of them
        holds units.
        """
        asking = {wait.process for wait in self.waiting}
        waits = {_run_name(one) for one in self.processes if one.id in asking}
        return len(waits - {_run_name(one) for one in self.processes if any(one.allocation)})


def _run_name(process: ProcessRow) -> str:
    """The first two parts of its reference, which all processes of a run share."""
    return "/".join(process.run_ref.split("/")[:2]) or str(process.id)


@dataclass(frozen=True)
class Holding:
    """Units of one class that a process holds, and the time of its oldest grant that is not fully
    released.
    """

    process: int
    key: str
    unit: str
    units: int
    since: datetime | None

    @property
    def unit_words(self) -> UnitWords:
        return UnitWords(self.key, self.unit)

    @property
    def amount(self) -> str:
        """The units in words: `8 fetch slots`."""
        return self.unit_words.amount(self.units)


@dataclass(frozen=True)
class EventRow:
    version: int
    at: datetime
    kind: str
    what: str
    process: int | None
    label: str
    amounts: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class PoolCard:
    id: int
    name: str
    policy: str
    is_safe: bool
    resources: tuple[ResourceRow, ...]
    processes: int
    waiting_requests: int
    #: as in BankView
    waiting_runs: int
