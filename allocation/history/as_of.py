"""The state of a pool after any event of its ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allocation.errors import LedgerUnreadable, UnknownEvent, UnknownPool
from allocation.history.checkpoints import replayed_state
from allocation.isolation import repeatable_read
from allocation.models import Event, EventKind, Pool, Process
from allocation.rules import banker
from allocation.rules.banker import BankVerdict, State, Vector, minus
from allocation.rules.replay import Breach, LedgerReplay
from allocation.snapshot import ResourceRow


@dataclass(frozen=True)
class PastHolder:
    """A process at that time, which was holding, waiting, idle or reserved."""

    id: int
    label: str
    maximum: Vector
    allocation: Vector
    need: Vector
    state: str

    @property
    def cells(self) -> list[tuple[int, int, int]]:
        """Allocation, Max and Need for each class."""
        return list(zip(self.allocation, self.maximum, self.need, strict=True))


@dataclass(frozen=True)
class PastWait:
    """A request that was waiting at that time, with the event that began the wait, and the reason
    as it was given then.
    """

    request: UUID
    process: int
    label: str
    amounts: Vector
    version: int
    since: datetime
    verdict: str
    reason: str


@dataclass(frozen=True)
class EvidenceStep:
    """One step of the recorded sequence: the Need of the process, and the Work available to it."""

    process: int
    label: str
    need: Vector
    work: Vector

    @property
    def cells(self) -> list[tuple[int, int]]:
        return list(zip(self.need, self.work, strict=True))


@dataclass(frozen=True)
class PastBank:
    id: int
    name: str
    policy: str
    event: Event
    label: str
    resources: tuple[ResourceRow, ...]
    processes: tuple[PastHolder, ...]
    waiting: tuple[PastWait, ...]
    #: the evidence of the decision: after a grant about the shown state, after a wait about the
    #: state that the grant would have made
    evidence: tuple[EvidenceStep, ...]
    is_safe: bool
    safe_sequence: tuple[int, ...] | None
    #: labels of the processes that could not be sure to finish at that time
    stuck: tuple[str, ...]
    last: int


def bank_as_of(pool_id: int, version: int | None = None) -> PastBank:
    """The pool as of an event, by default the latest.

    Raises UnknownPool, UnknownEvent or LedgerUnreadable.
    """
    with repeatable_read():
        pool = Pool.objects.filter(pk=pool_id).first()
        if pool is None:
            raise UnknownPool(pool=pool_id)
        event = Event.objects.filter(
            pool=pool, version=pool.version if version is None else version
        ).first()
        if event is None:
            raise UnknownEvent(pool=pool.name, event=version, last=pool.version)
        try:
            bank = replayed_state(pool.pk, event.version)
        except Breach as breach:
            raise LedgerUnreadable(breach=breach) from breach
        return _past_bank(pool, event, bank)


def _past_bank(pool: Pool, event: Event, bank: LedgerReplay) -> PastBank:
    labels = _process_labels({*bank.claims, event.process_id or 0, *event.sequence})
    state, rows = bank.state()
    order = banker.finishable_processes(state)
    return PastBank(
        id=pool.pk,
        name=pool.name,
        policy=pool.policy,
        event=event,
        label=labels.get(event.process_id or 0, ""),
        resources=tuple(
            ResourceRow(
                one.key,
                one.unit,
                one.sentence,
                bank.capacity[one.ordinal],
                bank.available[one.ordinal],
            )
            for one in pool.classes.order_by("ordinal")[: len(bank.capacity)]
        ),
        processes=_holders(bank, labels),
        waiting=_waiters(pool, bank, labels),
        evidence=_grant_evidence(event, bank, labels),
        is_safe=len(order) == len(rows),
        safe_sequence=tuple(rows[i] for i in order) if len(order) == len(rows) else None,
        stuck=tuple(labels[one] for i, one in enumerate(rows) if i not in order),
        last=pool.version,
    )


def _process_labels(processes: Iterable[int]) -> dict[int, str]:
    """The names of the processes. Processes whose rows were deleted are named by number, since the
    ledger outlives its rows.
    """
    wanted = [one for one in processes if one]
    names = dict(Process.objects.filter(pk__in=wanted).values_list("pk", "label"))
    return {one: names.get(one, f"process {one}") for one in wanted}


def _holders(bank: LedgerReplay, labels: dict[int, str]) -> tuple[PastHolder, ...]:
    waits = {wait.process for wait in bank.waiting.values()}

    def holder_state(one: int) -> str:
        if one in bank.kept:
            return "reserved"
        return "waiting" if one in waits else "holding" if any(bank.held[one]) else "idle"

    ordered = sorted(bank.claims, key=lambda one: (not any(bank.held[one]), one))
    return tuple(
        PastHolder(
            one,
            labels[one],
            bank.claims[one],
            bank.held[one],
            minus(bank.claims[one], bank.held[one]),
            holder_state(one),
        )
        for one in ordered
    )


def _waiters(pool: Pool, bank: LedgerReplay, labels: dict[int, str]) -> tuple[PastWait, ...]:
    told = {
        event.version: event
        for event in Event.objects.filter(
            pool=pool, version__in=[wait.version for wait in bank.waiting.values()]
        )
    }
    return tuple(
        PastWait(
            request,
            wait.process,
            labels[wait.process],
            wait.amounts,
            wait.version,
            told[wait.version].at,
            wait.verdict,
            told[wait.version].reason,
        )
        for request, wait in bank.waiting.items()
    )


def _grant_evidence(
    event: Event, bank: LedgerReplay, labels: dict[int, str]
) -> tuple[EvidenceStep, ...]:
    if not event.sequence or event.kind not in (EventKind.GRANTED, EventKind.WAITING):
        return ()
    state, rows = bank.state(event.process_id)
    if event.verdict == BankVerdict.WAIT_UNSAFE.value and event.process_id:
        state = banker.state_after_grant(state, rows.index(event.process_id), tuple(event.amounts))
    return tuple(_evidence_steps(state, rows, event.sequence, labels))


def _evidence_steps(
    state: State, rows: Sequence[int], sequence: Sequence[int], labels: dict[int, str]
) -> Iterable[EvidenceStep]:
    try:
        places = [rows.index(one) for one in sequence]
        works = banker.work_vectors(state, places)
    except ValueError as error:
        raise LedgerUnreadable(
            breach=f"The sequence {list(sequence)} of this event proves nothing: {error}."
        ) from error
    for i, work in zip(places, works, strict=False):
        yield EvidenceStep(rows[i], labels[rows[i]], state.need[i], work)
