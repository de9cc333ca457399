"""Checks every decision of a ledger while the ledger is replayed: whether the decision was right,
and whether its evidence proves it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from allocation.rules import banker
from allocation.rules.banker import BankVerdict, Vector, fits, minus, plus
from allocation.rules.replay import Breach, LedgerEntry, LedgerReplay

#: after these events the state must be safe
MUST_BE_SAFE = {"kept", "resumed"}
LIMITS = {"capacity_set", "claim_changed"}
#: the verdicts of turns and reserves. They bind only processes without units, so the units were
#: available to a process that waits for one of these reasons
TURNS = {"wait_turn", "wait_reserved", "wait_share"}


@dataclass
class Proof:
    """Judges a pool's events in their order."""

    #: whether the pool is no naive one. A naive pool promises no safety, so only Available and the
    #: declarations are checked
    is_banker: bool = True
    #: the state of the pool after the last event
    bank: LedgerReplay = field(default_factory=LedgerReplay)
    is_safe: bool = True
    #: the number of checked decisions
    decisions: int = 0

    def check_event(self, entry: LedgerEntry) -> None:
        """Apply the event to the replayed state, and check its decision. Raises Breach if the event
        is impossible or its decision was wrong.
        """
        bank, capacity = self.bank, self.bank.capacity
        claims = dict(bank.claims) if entry.kind == "claim_changed" else {}
        bank.apply_event(entry)
        if entry.kind == "granted":
            self._judge_grant(entry)
        elif entry.kind == "waiting":
            self._judge_wait(entry)
        elif entry.kind == "rejected":
            self._judge_rejection(entry)
        elif entry.kind == "registered" and not fits(entry.amounts, bank.capacity):
            raise Breach(entry, f"the claim {entry.amounts}", f"a capacity of {bank.capacity}")
        elif entry.kind in MUST_BE_SAFE:
            self._judge_change(entry)
        elif entry.kind in LIMITS:
            old, new = (
                (capacity, bank.capacity)
                if entry.kind == "capacity_set"
                else (entry.amounts, claims[entry.process])
            )
            if not fits(old, new) and not bank.overrides:
                self._judge_change(entry)
            bank.overrides = False
        if self.is_banker and (entry.kind in LIMITS or not self.is_safe):
            self.is_safe = self._is_safe()

    def _judge_grant(self, entry: LedgerEntry) -> None:
        self.decisions += 1
        began = self.bank.held[entry.process] == entry.amounts
        if began and self.bank.exceeds_share_limit(entry.process):
            raise Breach(
                entry,
                f"a grant to process {entry.process}, which held nothing",
                f"that the limit of share {self.bank.shares[entry.process]} keeps it back",
            )
        if not self.is_banker:
            return
        state, rows = self.bank.state()
        _, finished = self._work_after_sequence(
            entry, rows, self.bank.available, self.bank.held[entry.process]
        )
        if entry.process not in finished:
            raise Breach(
                entry,
                f"the sequence {entry.sequence}",
                f"no proof that process {entry.process} can finish",
            )
        if len(banker.finishable_processes(state)) < len(rows):
            completes = fits(self._need(entry.process), self.bank.available)
            if self.is_safe or not completes:
                raise Breach(
                    entry,
                    f"a grant of {entry.amounts} to process {entry.process}",
                    "that the state after it is not safe",
                )

    def _judge_wait(self, entry: LedgerEntry) -> None:
        self.decisions += 1
        if not fits(entry.amounts, self._need(entry.process)):
            raise Breach(
                entry,
                f"a wait for {entry.amounts}",
                f"that process {entry.process} needs only {self._need(entry.process)}",
            )
        found = self._expected_verdict(entry)
        if entry.verdict in TURNS:
            if found is BankVerdict.WAIT_UNAVAILABLE or any(self.bank.held[entry.process]):
                raise Breach(
                    entry,
                    entry.verdict,
                    f"{found.value}, and turns bind only those that hold nothing",
                )
            if entry.verdict == "wait_share" and not self.bank.exceeds_share_limit(entry.process):
                raise Breach(entry, entry.verdict, "room within the limit of its share")
        elif found is BankVerdict.GRANT:
            raise Breach(entry, entry.verdict or "no verdict", "that it might have been granted")
        elif entry.verdict != found.value:
            raise Breach(entry, entry.verdict or "no verdict", found.value)
        self._judge_evidence(entry, found)

    def _judge_evidence(self, entry: LedgerEntry, found: BankVerdict) -> None:
        """Check the evidence recorded with a wait: the processes that could have finished after the
        grant. After an unsafe verdict these must be all that could.
        """
        bank = self.bank
        if found is BankVerdict.WAIT_UNAVAILABLE:
            if entry.sequence:
                raise Breach(
                    entry,
                    f"the sequence {entry.sequence}",
                    "that nothing was searched where units are missing",
                )
            return
        _, rows = bank.state(entry.process)
        held = plus(bank.held[entry.process], entry.amounts)
        work, finished = self._work_after_sequence(
            entry, rows, minus(bank.available, entry.amounts), held
        )
        if found is not BankVerdict.WAIT_UNSAFE:
            return
        needs = {
            one: minus(bank.claims[one], held if one == entry.process else bank.held[one])
            for one in rows
            if one not in finished
        }
        if more := [one for one, need in needs.items() if fits(need, work)]:
            raise Breach(
                entry,
                f"the sequence {entry.sequence}",
                f"that process {more[0]} could finish after it",
            )

    def _work_after_sequence(
        self, entry: LedgerEntry, rows: list[int], work: Vector, held: Vector
    ) -> tuple[Vector, set[int]]:
        """The Work after the processes of an event's sequence have finished, and these processes.

        Raises Breach if one of them could not finish. held: the units of the requester.
        """
        finished = set[int]()
        for process in entry.sequence:
            holds = held if process == entry.process else self.bank.held.get(process, ())
            need = (
                minus(self.bank.claims[process], holds)
                if process in rows and process not in finished
                else None
            )
            if need is None or not fits(need, work):
                raise Breach(
                    entry,
                    f"the sequence {entry.sequence}",
                    f"that process {process}, which needs {need}, cannot finish with {work}",
                )
            work = plus(work, holds)
            finished.add(process)
        return work, finished

    def _expected_verdict(self, entry: LedgerEntry) -> BankVerdict:
        if not fits(entry.amounts, self.bank.available):
            return BankVerdict.WAIT_UNAVAILABLE
        if not self.is_banker:
            return BankVerdict.GRANT
        state, rows = self.bank.state(entry.process)
        return banker.decide(
            state, rows.index(entry.process), entry.amounts, state_is_safe=self.is_safe
        )

    def _judge_rejection(self, entry: LedgerEntry) -> None:
        self.decisions += 1
        need = self._need(entry.process)
        if fits(entry.amounts, need):
            raise Breach(
                entry,
                f"a rejection of {entry.amounts}",
                f"that process {entry.process} needs {need}",
            )

    def _judge_change(self, entry: LedgerEntry) -> None:
        if self.is_banker and not self._is_safe():
            raise Breach(
                entry,
                f"{entry.amounts}, without an override",
                "that the state after it is not safe",
            )

    def _is_safe(self) -> bool:
        state, rows = self.bank.state()
        return len(banker.finishable_processes(state)) == len(rows)

    def _need(self, process: int) -> tuple[int, ...]:
        return minus(self.bank.claims[process], self.bank.held[process])
