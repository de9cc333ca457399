"""A single locked pool in memory, with the reads and the changes that decisions need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from allocation.errors import BadAmount, UnknownPool, UnknownProcess, UnknownResource
from allocation.fields import ClockTimestamp
from allocation.models import (
    Event,
    EventKind,
    Outbox,
    OutboxKind,
    Policy,
    Pool,
    Process,
    Request,
    RequestKind,
    RequestState,
)
from allocation.reasons import Parties, Party, explain
from allocation.rules import banker, searches
from allocation.rules.banker import BankVerdict, Decision, State, Vector
from allocation.rules.fairness import AnyVerdict
from allocation.rules.shares import Member, ShareTerms, ShareUse
from allocation.services.ledger_writes import write_grant, write_release, write_shift
from allocation.services.rows import (
    PoolSurroundings,
    UnitHolder,
    lock_pool,
    lock_pool_of,
    read_surroundings,
    write_pool,
)
from allocation.values import RequestOutcome
from allocation.wording import UnitWords

#: the channel on which PostgreSQL announces grants; `allocation/sql/write_grant.sql` contains the
#: name, too
GRANTS_CHANNEL = "bank"
Held = Process | UnitHolder


#: the searches for the pools of experiments; other pools use the reduced scope up to the requester
SEARCHES: Mapping[str, Callable[[State], list[int]]] = {
    Policy.FULL_SCOPE: banker.finishable_processes,
    Policy.RECURSIVE: searches.search_globally,
    Policy.UNCOVERED: searches.search_uncovered,
}


@dataclass
class Bank:
    """A pool whose row is locked until the transaction ends, with the processes that decide its
    safety.

    Only processes that hold something can make a state unsafe, so only these and the named ones are
    read. Every change is written to the rows of processes, requests and grants at once. Grants and
    releases write the pool's row and their event, too. Other changes of the pool and other events
    are written before the next grant or release, or on closing.
    """

    pool: Pool
    #: the unit of each class, by its key
    units: dict[str, str]
    #: complete rows of the named processes, and of each process that is changed
    processes: dict[int, Process]
    #: the processes that hold units, by id
    holders: dict[int, UnitHolder]
    available: Vector
    has_waiters: bool
    shares: dict[int, ShareTerms] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    has_begun: bool = False

    def __post_init__(self) -> None:
        self._version_before = self.pool.version

    @cached_property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.units)

    @property
    def deciding_processes(self) -> Iterable[Held]:
        """The holders and the named processes. Rows that may change precede rows that were only
        read.
        """
        found: dict[int, Held] = {**self.holders, **self.processes}
        return found.values()

    @property
    def share_use(self) -> ShareUse:
        members = (
            Member(p.share_id, p.label, tuple(p.max_claim), tuple(p.allocated))
            for p in self.deciding_processes
            if any(p.allocated)
        )
        return ShareUse(self.shares, tuple(members) if self.shares else ())

    def vector(self, amounts: Mapping[str, int]) -> Vector:
        """Amounts by class key as a vector in the order of classes. A missing class is 0.

        Raises UnknownResource or BadAmount.
        """
        for key, units in amounts.items():
            if key not in self.keys:
                raise UnknownResource(resource=key, known=", ".join(self.keys))
            if type(units) is not int or units < 0:
                raise BadAmount(**{key: units})
        return tuple(amounts.get(key, 0) for key in self.keys)

    def amounts_by_key(self, amounts: Vector) -> dict[str, int]:
        """The amounts of a vector by class key, without classes of zero units."""
        return {key: units for key, units in zip(self.keys, amounts, strict=True) if units}

    def state(
        self, process: Process | None = None, *, is_reduced: bool = True
    ) -> tuple[State, list[Held]]:
        """The holders as a State, including `process` if it is given, and the process of each row.
        If the state is not reduced, waiting processes that hold nothing are included, too.

        Processes that keep units without a shift are left out: they do not finish, so nothing may
        depend on their units.
        """
        rows = [
            p
            for p in self.deciding_processes
            if p is process or (p.kept_until is None and (any(p.allocated) or not is_reduced))
        ]
        return State(
            self.available,
            tuple(tuple(p.max_claim) for p in rows),
            tuple(tuple(p.allocated) for p in rows),
        ), rows

    def verdict_on_request(self, process: Process, amounts: Vector) -> Decision:
        """Decide in memory whether `process` may have `amounts`. The decision's sequence has the
        ids of processes.
        """
        if not banker.fits(amounts, self.available):
            return Decision(BankVerdict.WAIT_UNAVAILABLE)
        if self.pool.policy == Policy.NAIVE:
            return Decision(BankVerdict.GRANT)
        search = SEARCHES.get(self.pool.policy)
        state, rows = self.state(process, is_reduced=search is None)
        # `index` would compare models, which is slow
        asker = next(i for i, row in enumerate(rows) if row is process)
        is_safe = self.pool.is_safe
        decision = banker.decide_with_evidence(
            state, asker, amounts, state_is_safe=is_safe, search=search
        )
        # processes that hold nothing release nothing, so the sequence is a proof without them
        proof = [i for i in decision.sequence if i == asker or any(state.allocation[i])]
        return Decision(decision.verdict, tuple(rows[i].pk for i in proof))

    def reason_of(self, process: Process, amounts: Vector, verdict: BankVerdict) -> str:
        state, rows = self.state(process)
        kept = [p for p in self.deciding_processes if p.kept_until is not None]
        parties = Parties(
            _parties_of_processes(rows),
            tuple(UnitWords(key, unit) for key, unit in self.units.items()),
            _parties_of_processes(kept),
        )
        return explain(state, parties, rows.index(process), amounts, verdict).reason

    def grant(
        self,
        request: Request,
        decision: Decision,
        deadline_seconds: float | None = None,
    ) -> RequestOutcome:
        """Grant the request's units to its process. A granted start begins a shift.

        deadline_seconds: only for a new request; a waiting one has its deadline already.
        """
        self.write_changes()
        process = self.processes[request.process_id]
        written = write_grant(
            request,
            decision.sequence,
            others_wait=self.has_waiters,
            deadline_seconds=deadline_seconds,
        )
        self.pool.version += 1
        self.available, process.allocated = written.available, list(written.held)
        if request.kind == RequestKind.START:
            process.epoch, process.kept_until = written.shift, None
        return RequestOutcome.from_grant(request.pk, written.grant_id, written.shift)

    def begin_shift(self, process: Process) -> None:
        """Begin a shift with the units that the process holds. They are no longer reserved."""
        process.epoch, process.kept_until = write_shift(process), None
        self.has_begun = True

    def store_refusal(
        self,
        request: Request,
        state: RequestState,
        *,
        verdict: AnyVerdict | None = None,
        reason: str,
    ) -> None:
        """Store the state of a request that is not granted. A new request is inserted."""
        is_new = request._state.adding
        changes_wait = (
            state == RequestState.WAITING if is_new else request.state == RequestState.WAITING
        )
        request.state, request.reason = state, reason
        request.verdict = request.verdict if verdict is None else verdict.value
        if state != RequestState.WAITING:
            request.decided_at = ClockTimestamp()
        else:
            self.has_waiters = True
        if is_new:
            request.save(force_insert=True)
        else:
            request.save(update_fields=["state", "reason", "verdict", "decided_at"])
        if changes_wait:
            Process.objects.filter(pk=request.process_id).update(
                is_waiting=state == RequestState.WAITING
            )

    def end_wait(self, request: Request, state: RequestState, reason: str) -> None:
        """End a wait without a grant, because it is cancelled or expired."""
        self.store_refusal(request, state, reason=reason)
        kind = EventKind.EXPIRED if state == RequestState.EXPIRED else EventKind.CANCELLED
        self.log_request(kind, request)

    def return_units(
        self,
        process: Process,
        amounts: Vector,
        kind: EventKind,
        reason: str,
        *,
        release_id: UUID | None = None,
        ends_shift: bool = False,
    ) -> None:
        """Return units, from the newest open grants first, and log this. Raises LedgerBroken."""
        self.write_changes()
        available, held = write_release(
            process,
            amounts,
            kind,
            reason,
            release_id=release_id,
            ends_shift=ends_shift,
        )
        self.pool.version += 1
        self.available, process.allocated = available, list(held)
        process.kept_until = process.kept_until if any(held) else None
        if ends_shift:
            process.lease_until, process.worker = None, ""

    def log_event(
        self,
        kind: EventKind,
        process: Process | None = None,
        *,
        amounts: Vector | None = None,
        before: Vector | None = None,
        reason: str = "",
        share: int | None = None,
    ) -> None:
        """Add an event that is not about a request.

        before: Available before the event, if the event changed it. amounts: zero by default.
        """
        told = (0,) * len(self.keys) if amounts is None else amounts
        event = self._add_event(kind, process, told)
        event.available_before = list(self.available if before is None else before)
        event.reason, event.share_id = reason, share

    def log_request(
        self, kind: EventKind, request: Request, *, sequence: tuple[int, ...] = ()
    ) -> None:
        """Add the event of a request whose verdict and reason are already stored."""
        event = self._add_event(kind, self.processes[request.process_id], tuple(request.amounts))
        event.request_id, event.sequence = request.pk, list(sequence)
        event.verdict, event.reason = request.verdict, request.reason

    def _add_event(self, kind: EventKind, process: Process | None, amounts: Vector) -> Event:
        self.pool.version += 1
        event = Event(
            pool=self.pool,
            version=self.pool.version,
            kind=kind,
            process=process,
            epoch=process.epoch if process else None,
            amounts=list(amounts),
            available_before=list(self.available),
            available_after=list(self.available),
        )
        self.events.append(event)
        return event

    def post_message(
        self, kind: OutboxKind, process: Process | None = None, epoch: int | None = None
    ) -> None:
        Outbox.objects.create(kind=kind, pool=self.pool, process=process, epoch=epoch)

    def write_changes(self) -> None:
        """Write the events so far, and the pool in the state after them. Later writes of the server
        come after these.
        """
        if self.events:
            self._write_pool()

    def close(self) -> None:
        """Write everything that is not written yet, and note if an unsafe state has become safe
        again.
        """
        if self.pool.is_safe or self.pool.version == self._version_before:
            self.write_changes()
            return
        self.pool.is_safe = banker.find_safe_sequence(self.state()[0]) is not None
        self._write_pool()

    def _write_pool(self) -> None:
        """Write the pool and its events. This wakes listeners if a shift has begun."""
        write_pool(self.pool, self.available, channel=GRANTS_CHANNEL if self.has_begun else None)
        Event.objects.bulk_create(self.events)
        self.events.clear()


@contextmanager
def locked_bank(pool: int, *named: int) -> Iterator[Bank]:
    """Lock the pool, then read it. Changes are written when the block ends without an error.

    Only within a transaction of the pool.

    Safety is a property of the whole state, so two decisions must never overlap, and the pool has
    one lock. The processes are read in the *next* statement, since a statement that locks and joins
    would return them as they were before the wait. The order of locks is always pool, process,
    request. Raises UnknownPool.
    """
    row = lock_pool(pool)
    if row is None:
        raise UnknownPool(pool=pool)
    bank = _open_bank(row, read_surroundings(row, named))
    yield bank
    bank.close()


@contextmanager
def locked_bank_of(process: int) -> Iterator[tuple[Bank, Process]]:
    """Lock the pool of a process. Read the pool and the process. Raises UnknownProcess."""
    row = lock_pool_of(process)
    if row is None:
        raise UnknownProcess(process=process)
    bank = _open_bank(row, read_surroundings(row, [process]))
    yield bank, bank.processes[process]
    bank.close()


def _open_bank(pool: Pool, around: PoolSurroundings) -> Bank:
    return Bank(
        pool,
        around.units,
        around.named,
        around.holders,
        tuple(pool.available),
        around.has_waiters,
        around.shares,
    )


def _parties_of_processes(processes: Iterable[Held]) -> tuple[Party, ...]:
    return tuple(
        Party(p.pk, p.label, tuple(p.allocated), kept_until=p.kept_until) for p in processes
    )
