"""Replay a pool's ledger: the state after every event, computed from the events alone. Pure.

This module checks that each event is possible: versions without a gap, Available before and after,
the units of each process, and conservation after each event. `allocation.rules.proof` checks
whether its decision was right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple
from uuid import UUID

from allocation.rules.banker import State, Vector, fits, minus, plus
from allocation.rules.shares import NO_LIMIT


class LedgerEntry(NamedTuple):
    """One event of the ledger, without the texts for people."""

    version: int
    kind: str
    process: int  # the process; 0 for an event about the whole pool
    request: UUID | None
    amounts: Vector
    before: Vector
    after: Vector
    verdict: str
    sequence: tuple[int, ...]
    #: the share that changed, or to which a registered process belongs
    share: int | None = None


class Breach(Exception):
    """A bad event, with its version, the recorded state and the replayed state."""

    def __init__(self, entry: LedgerEntry, recorded: object, found: object) -> None:
        self.version, self.kind, self.recorded, self.found = (
            entry.version,
            entry.kind,
            str(recorded),
            str(found),
        )
        super().__init__(
            f"Event {entry.version} ({entry.kind}): recorded {recorded}; the replay finds {found}."
        )


class LedgerWait(NamedTuple):
    process: int
    amounts: Vector
    version: int
    verdict: str


@dataclass
class LedgerReplay:
    """The state of a pool according to its ledger, without finished processes."""

    #: the version of the last event
    version: int = 0
    capacity: Vector = ()
    available: Vector = ()
    in_use: Vector = ()
    claims: dict[int, Vector] = field(default_factory=dict)
    held: dict[int, Vector] = field(default_factory=dict)
    #: processes whose units are reserved
    kept: set[int] = field(default_factory=set)
    waiting: dict[UUID, LedgerWait] = field(default_factory=dict)
    #: the share to which each process belongs
    shares: dict[int, int] = field(default_factory=dict)
    #: the most that the processes of each share that hold units may claim together
    limits: dict[int, Vector] = field(default_factory=dict)
    #: whether the next change of limits may be unsafe
    overrides: bool = False
    #: the number of events of each kind
    counts: dict[str, int] = field(default_factory=dict)

    def apply_event(self, entry: LedgerEntry) -> None:
        """Apply one more event.

        Raises Breach if the event cannot have happened next. The replay cannot be used after that.
        """
        if entry.version != self.version + 1:
            raise Breach(
                entry, f"version {entry.version}", f"that version {self.version + 1} comes next"
            )
        if entry.kind not in MOVES:
            raise Breach(entry, f"the kind {entry.kind}", "that it does not know it")
        if entry.kind == "created":
            self.available = self.in_use = (0,) * len(entry.amounts)
        length = max(len(entry.before), len(self.available))
        if _padded_vector(entry.before, length) != _padded_vector(self.available, length):
            raise Breach(entry, f"Available before it {entry.before}", self.available)
        MOVES[entry.kind](self, entry)
        self._expect_balance(entry)
        self.version = entry.version
        self.counts[entry.kind] = self.counts.get(entry.kind, 0) + 1

    def state(self, process: int | None = None) -> tuple[State, list[int]]:
        """The state of the processes that hold units and may finish, including `process` if it is
        given. Also the process of each row.
        """
        rows = [
            one
            for one, held in self.held.items()
            if one == process or (any(held) and one not in self.kept)
        ]
        return State(
            self.available,
            tuple(self.claims[one] for one in rows),
            tuple(self.held[one] for one in rows),
        ), rows

    def exceeds_share_limit(self, process: int) -> bool:
        """Whether the claims of a process, and of the processes of its share with units, exceed the
        limit.
        """
        share = self.shares.get(process)
        limit = None if share is None else self.limits.get(share)
        members = [
            claim
            for one, claim in self.claims.items()
            if self.shares.get(one) == share and (one == process or any(self.held[one]))
        ]
        return limit is not None and not fits(reduce(plus, members), limit)

    def _expect_balance(self, entry: LedgerEntry) -> None:
        if entry.after != self.available:
            raise Breach(entry, f"Available after it {entry.after}", self.available)
        if min(self.available) < 0:
            raise Breach(entry, f"{entry.amounts} units", f"that only {entry.before} were free")
        if plus(self.available, self.in_use) != self.capacity:
            raise Breach(
                entry, f"Available {self.available}", f"{self.in_use} in use of {self.capacity}"
            )
        held = self.held.get(entry.process)
        if held is not None and not (min(held) >= 0 and fits(held, self.claims[entry.process])):
            raise Breach(
                entry,
                f"{entry.amounts} units",
                f"process {entry.process} with {held} of its claim {self.claims[entry.process]}",
            )

    def _on_no_change(self, entry: LedgerEntry) -> None:
        pass

    def _on_created(self, entry: LedgerEntry) -> None:
        if self.version:
            raise Breach(entry, "the creation of the pool", "that it was there before")
        self.capacity = self.available = entry.amounts

    def _on_registered(self, entry: LedgerEntry) -> None:
        if entry.process in self.claims:
            raise Breach(entry, f"process {entry.process} as new", "that it was registered before")
        self.claims[entry.process], self.held[entry.process] = (
            entry.amounts,
            (0,) * len(entry.amounts),
        )
        if entry.share is not None:
            self.shares[entry.process] = entry.share

    def _on_granted(self, entry: LedgerEntry) -> None:
        wait = self.waiting.pop(_request_of_entry(entry), None)
        if wait and (wait.process, wait.amounts) != (entry.process, entry.amounts):
            raise Breach(
                entry,
                f"{entry.amounts} for process {entry.process}",
                f"that process {wait.process} waited for {wait.amounts}",
            )
        self._add_to_held(entry, entry.amounts)

    def _on_waiting(self, entry: LedgerEntry) -> None:
        waits = [wait for wait in self.waiting.values() if wait.process == entry.process]
        if waits:
            raise Breach(
                entry,
                f"that process {entry.process} waits",
                f"that it waits already since event {waits[0].version}",
            )
        self._held_units(entry)
        self.waiting[_request_of_entry(entry)] = LedgerWait(
            entry.process, entry.amounts, entry.version, entry.verdict
        )

    def _on_wait_ended(self, entry: LedgerEntry) -> None:
        wait = self.waiting.pop(_request_of_entry(entry), None)
        if wait is None or wait.process != entry.process:
            raise Breach(entry, f"the end of a wait of process {entry.process}", "no such wait")

    def _on_released(self, entry: LedgerEntry) -> None:
        self._add_to_held(entry, tuple(-units for units in entry.amounts))
        if not any(self.held[entry.process]):
            self.kept.discard(entry.process)

    def _on_all_released(self, entry: LedgerEntry) -> None:
        self._expect_all(entry)
        self._on_released(entry)

    def _on_keep_ended(self, entry: LedgerEntry) -> None:
        self._expect_kept(entry)
        self._on_all_released(entry)

    def _on_finished(self, entry: LedgerEntry) -> None:
        self._on_all_released(entry)
        if any(wait.process == entry.process for wait in self.waiting.values()):
            raise Breach(entry, f"that process {entry.process} finished", "that it still waits")
        del self.claims[entry.process], self.held[entry.process]
        self.shares.pop(entry.process, None)

    def _on_kept(self, entry: LedgerEntry) -> None:
        self._expect_all(entry)
        self.kept.add(entry.process)

    def _on_resumed(self, entry: LedgerEntry) -> None:
        self._expect_kept(entry)
        self._expect_all(entry)
        self.kept.remove(entry.process)

    def _on_capacity_set(self, entry: LedgerEntry) -> None:
        self.capacity, self.available = entry.amounts, minus(entry.amounts, self.in_use)

    def _on_claim_changed(self, entry: LedgerEntry) -> None:
        self._held_units(entry)
        self.claims[entry.process] = entry.amounts

    def _on_share_limited(self, entry: LedgerEntry) -> None:
        if entry.share is None:
            raise Breach(entry, "no share", "that there must be one")
        self.limits[entry.share] = entry.amounts

    def _on_overridden(self, entry: LedgerEntry) -> None:
        self.overrides = True

    def _on_class_added(self, entry: LedgerEntry) -> None:
        length = len(entry.amounts)
        self.in_use = _padded_vector(self.in_use, length)
        self.claims = {one: _padded_vector(claim, length) for one, claim in self.claims.items()}
        self.held = {one: _padded_vector(held, length) for one, held in self.held.items()}
        self.limits = {
            share: limit + (NO_LIMIT,) * (length - len(limit))
            for share, limit in self.limits.items()
        }
        self.waiting = {
            one: wait._replace(amounts=_padded_vector(wait.amounts, length))
            for one, wait in self.waiting.items()
        }
        self._on_capacity_set(entry)

    def _add_to_held(self, entry: LedgerEntry, amounts: Vector) -> None:
        self.held[entry.process] = plus(self._held_units(entry), amounts)
        self.available, self.in_use = minus(self.available, amounts), plus(self.in_use, amounts)

    def _held_units(self, entry: LedgerEntry) -> Vector:
        if entry.process not in self.held:
            raise Breach(entry, f"process {entry.process}", "no such process at that time")
        return self.held[entry.process]

    def _expect_all(self, entry: LedgerEntry) -> None:
        if entry.amounts != self._held_units(entry):
            raise Breach(
                entry,
                f"that process {entry.process} held {entry.amounts}",
                self.held[entry.process],
            )

    def _expect_kept(self, entry: LedgerEntry) -> None:
        if entry.process not in self.kept:
            raise Breach(entry, f"a reservation of process {entry.process}", "none")


def _padded_vector(vector: Vector, length: int) -> Vector:
    """The vector, with 0 for classes that were added later."""
    return vector + (0,) * (length - len(vector))


def _request_of_entry(entry: LedgerEntry) -> UUID:
    if entry.request is None:
        raise Breach(entry, "no request", "that there must be one")
    return entry.request


#: the effect of each kind of event on balances
MOVES: dict[str, Callable[[LedgerReplay, LedgerEntry], None]] = {
    "created": LedgerReplay._on_created,
    "registered": LedgerReplay._on_registered,
    "granted": LedgerReplay._on_granted,
    "waiting": LedgerReplay._on_waiting,
    "rejected": LedgerReplay._on_no_change,
    "cancelled": LedgerReplay._on_wait_ended,
    "expired": LedgerReplay._on_wait_ended,
    "released": LedgerReplay._on_released,
    "repeated": LedgerReplay._on_no_change,
    "stale": LedgerReplay._on_no_change,
    "reaped": LedgerReplay._on_all_released,
    "kept": LedgerReplay._on_kept,
    "keep_ended": LedgerReplay._on_keep_ended,
    "resumed": LedgerReplay._on_resumed,
    "finished": LedgerReplay._on_finished,
    "capacity_set": LedgerReplay._on_capacity_set,
    "claim_changed": LedgerReplay._on_claim_changed,
    "overridden": LedgerReplay._on_overridden,
    "class_added": LedgerReplay._on_class_added,
    "rules_changed": LedgerReplay._on_no_change,
    "reserved_set": LedgerReplay._on_no_change,
    "priority_changed": LedgerReplay._on_no_change,
    "share_reserved": LedgerReplay._on_no_change,
    "share_limited": LedgerReplay._on_share_limited,
}
