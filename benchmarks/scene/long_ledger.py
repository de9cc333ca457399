"""A long ledger, written directly into the tables as the services would have written it. The banker
decides, and the pool is a separate one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID, uuid4

from allocation.models import Event, Grant, Pool, Process, Request
from allocation.rules import banker
from allocation.rules.banker import BankVerdict, Vector
from allocation.rules.proof import Proof
from allocation.rules.replay import LedgerEntry
from allocation.services import (
    NewClass,
    create_pool,
    keep_checkpoints,
    keep_wait_counts,
    register_process,
)

CLASSES = 6
PROCESSES = 40
BATCH = 2000


def long_ledger(events: int) -> int:
    """The id of a pool with a number of events, in the state in which the scheduler keeps it."""
    ledger = LongLedger("long")
    ledger.write(events)
    keep_checkpoints()
    keep_wait_counts()
    return int(ledger.pool.pk)


class LongLedger:
    """Starts, growth, waits and releases of 40 processes over 6 classes. At the end the rows are
    written to match.
    """

    def __init__(self, name: str) -> None:
        self.random = Random(1)  # noqa: S311 - a workload, no secret
        keys = [f"c{j}" for j in range(CLASSES)]
        classes = [NewClass(key, "units", "For measuring.", 100) for key in keys]
        self.pool = create_pool(name=name, classes=classes)
        for i in range(PROCESSES):
            claim = {key: self.random.randint(5, 40) for key in keys}
            register_process(pool=self.pool.pk, label=f"p{i}", run_ref="", maximum=claim)
        self.proof = Proof()
        self.rows: list[Event] = []
        self.at = datetime.now(UTC) - timedelta(days=1)
        for event in Event.objects.filter(pool=self.pool).order_by("version"):
            self.proof.check_event(_entry(event))

    def write(self, events: int) -> None:
        step = timedelta(days=1) / events
        while self.proof.bank.version < events:
            self.at += step
            self._act_of(self.random.choice(list(self.proof.bank.claims)))
            if len(self.rows) >= BATCH:
                self._flush()
        self._flush()
        self._match_rows()

    def _act_of(self, process: int) -> None:
        bank = self.proof.bank
        if any(wait.process == process for wait in bank.waiting.values()):
            return
        held = bank.held[process]
        if any(held) and self.random.random() < 0.6:
            self._log("released", process, None, held, banker.plus(bank.available, held))
            for request, wait in list(bank.waiting.items()):
                self._ask(wait.process, request, wait.amounts, waits=True)
            return
        need = banker.minus(bank.claims[process], held)
        amounts = tuple(self.random.randint(0, units // 2) for units in need)
        if any(amounts):
            self._ask(process, uuid4(), amounts)

    def _ask(self, process: int, request: UUID, amounts: Vector, *, waits: bool = False) -> None:
        state, rows = self.proof.bank.state(process)
        decision = banker.decide_with_evidence(state, rows.index(process), amounts)
        sequence = tuple(rows[i] for i in decision.sequence)
        if decision.verdict is BankVerdict.GRANT:
            after = banker.minus(state.available, amounts)
            self._log("granted", process, request, amounts, after, "grant", sequence)
        elif not waits:
            verdict = decision.verdict.value
            self._log("waiting", process, request, amounts, state.available, verdict, sequence)

    def _log(
        self,
        kind: str,
        process: int,
        request: UUID | None,
        amounts: Vector,
        after: Vector,
        verdict: str = "",
        sequence: tuple[int, ...] = (),
    ) -> None:
        bank = self.proof.bank
        row = Event(
            pool=self.pool,
            version=bank.version + 1,
            kind=kind,
            at=self.at,
            process_id=process,
            request_id=request,
            amounts=list(amounts),
            available_before=list(bank.available),
            available_after=list(after),
            verdict=verdict,
            sequence=list(sequence),
        )
        self.rows.append(row)
        bank.apply_event(_entry(row))

    def _flush(self) -> None:
        Event.objects.bulk_create(self.rows)
        self.rows.clear()

    def _match_rows(self) -> None:
        """Write the pool, its processes, one grant for all units of each, and the waits, as the
        last event left them.
        """
        bank = self.proof.bank
        available = list(bank.available)
        Pool.objects.filter(pk=self.pool.pk).update(available=available, version=bank.version)
        for process, held in bank.held.items():
            Process.objects.filter(pk=process).update(allocated=list(held))
            if any(held):
                request = self._create_request(process, held, state="granted")
                amounts = {"amounts": list(held), "remaining": list(held)}
                Grant.objects.create(request=request, process_id=process, epoch=0, **amounts)
        for key, wait in bank.waiting.items():
            self._create_request(
                wait.process, wait.amounts, pk=key, state="waiting", verdict=wait.verdict
            )
            Process.objects.filter(pk=wait.process).update(is_waiting=True)

    def _create_request(self, process: int, amounts: Vector, **facts: object) -> Request:
        common = {"pool": self.pool, "kind": "start", "epoch": 0}
        return Request.objects.create(process_id=process, amounts=list(amounts), **common, **facts)


def _entry(event: Event) -> LedgerEntry:
    return LedgerEntry(
        event.version,
        event.kind,
        event.process_id or 0,
        event.request_id,
        tuple(event.amounts),
        tuple(event.available_before),
        tuple(event.available_after),
        event.verdict,
        tuple(event.sequence),
    )
