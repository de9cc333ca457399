"""What a pool looks like at one moment: frozen values for pages, commands and programs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allocation.banker import Vector, Verdict
from allocation.models import RequestKind
from allocation.reasons import Blocker


@dataclass(frozen=True)
class ResourceRow:
    """A resource class, and its entries of capacity and Available."""

    key: str
    unit: str
    sentence: str
    capacity: int
    available: int


@dataclass(frozen=True)
class ProcessRow:
    """A process with its rows of Max, Allocation and Need. `state` is holding, waiting or idle; `since` tells since when it holds."""

    id: int
    label: str
    run_ref: str
    maximum: Vector
    allocation: Vector
    need: Vector
    state: str
    epoch: int
    lease_until: datetime | None
    worker: str
    since: datetime | None

    @property
    def cells(self) -> list[tuple[int, int, int]]:
        """Allocation, Max and Need of each class."""
        return list(zip(self.allocation, self.maximum, self.need, strict=True))


@dataclass(frozen=True)
class Step:
    """One step of the safe sequence: Work as the process finds it, and once it has finished."""

    process: ProcessRow
    work: Vector
    work_after: Vector


@dataclass(frozen=True)
class WaitRow:
    """A request that waits, explained as of this moment. `position` counts from 1 in the order of arrival."""

    request: UUID
    process: int
    label: str
    kind: RequestKind
    amounts: dict[str, int]
    verdict: Verdict
    reason: str
    blockers: tuple[Blocker, ...]
    what_ends_it: str
    since: datetime
    deadline: datetime | None
    position: int


@dataclass(frozen=True)
class BankView:
    """A pool. `safe_sequence` is None if the state is unsafe, and then `stuck` names who could not be sure to finish."""

    id: int
    name: str
    policy: str
    resources: tuple[ResourceRow, ...]
    processes: tuple[ProcessRow, ...]
    is_safe: bool
    safe_sequence: tuple[Step, ...] | None
    stuck: tuple[ProcessRow, ...]
    waiting: tuple[WaitRow, ...]


@dataclass(frozen=True)
class Holding:
    """Units of one class that a process holds, since its oldest open grant."""

    process: int
    key: str
    unit: str
    units: int
    since: datetime | None
