"""A bank on paper: the product's pure rules decide, and the rest is as simple as possible."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from allocation.errors import AllocationError
from allocation.rules import banker, fairness
from allocation.rules.banker import BankVerdict, State
from allocation.rules.fairness import QueuedRequest, TurnRules
from allocation.rules.shares import NO_LIMIT, Member, ShareTerms, ShareUse, exceeded_classes
from tests.allocation.machine.book import Row, Seen, Vector, Wait


class Refused(AllocationError):
    """The bank on paper refuses."""


def refuse_if(condition: bool) -> None:
    if condition:
        raise Refused


@dataclass
class PaperBank:
    """Everything that the rules of the state machine may ask of a bank."""

    capacity: Vector
    bypass_limit: int
    available: Vector = ()
    is_safe: bool = True
    rows: dict[int, Row] = field(default_factory=dict)
    requests: dict[UUID, str] = field(default_factory=dict)
    waits: dict[UUID, Wait] = field(default_factory=dict)
    passed: dict[UUID, int] = field(default_factory=dict)
    releases: set[UUID] = field(default_factory=set)
    taken: set[tuple[int, int]] = field(default_factory=set)
    shares: dict[int, ShareTerms] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.available = self.capacity

    def look(self) -> Seen:
        return Seen(
            self.capacity,
            self.available,
            self.is_safe,
            self.rows,
            self.requests,
            {request: self.passed[request] for request in self.waits},
        )

    def open_share(self) -> int:
        number, nothing = len(self.shares) + 1, (0,) * len(self.capacity)
        self.shares[number] = ShareTerms(str(number), nothing, (NO_LIMIT,) * len(nothing))
        return number

    def change_share(self, share: int, reserved: Vector, limits: Vector) -> None:
        refuse_if(bool(exceeded_classes(reserved, limits)))
        for row in self.rows.values():
            refuse_if(
                row.share == share
                and not row.finished
                and bool(exceeded_classes(row.maximum, limits))
            )
        every = reserved
        for other, terms in self.shares.items():
            every = every if other == share else banker.plus(every, terms.reserved)
        refuse_if(reserved != self.shares[share].reserved and not banker.fits(every, self.capacity))
        self.shares[share] = ShareTerms(str(share), reserved, limits)
        self.pump()

    def _use(self) -> ShareUse:
        rows = self.rows.items()
        return ShareUse(
            self.shares,
            tuple(
                Member(row.share, str(n), row.maximum, row.held) for n, row in rows if any(row.held)
            ),
        )

    def _refuse_beyond_share(self, row: Row, claim: Vector) -> None:
        if row.share is None or banker.fits(claim, row.maximum):
            return
        others = (0,) * len(claim)
        if any(row.held):
            others = banker.minus(self._use().claimed_units(row.share), row.maximum)
        refuse_if(bool(exceeded_classes(banker.plus(others, claim), self.shares[row.share].limits)))

    def register(self, claim: Vector, share: int | None) -> int:
        refuse_if(not banker.fits(claim, self.capacity))
        refuse_if(share is not None and bool(exceeded_classes(claim, self.shares[share].limits)))
        name = len(self.rows) + 1
        self.rows[name] = Row(claim, (0,) * len(claim), share=share)
        return name

    def ask(self, name: int, amounts: Vector, kind: str, request: UUID, epoch: int) -> None:
        if request in self.requests:
            return refuse_if(self.requests[request] == "rejected")
        if not banker.fits(amounts, banker.minus(self.rows[name].maximum, self.rows[name].held)):
            self.requests[request] = "rejected"
            raise Refused
        if kind == "stage":
            self._stop_waiting(name, "cancelled")
        self.requests[request] = "waiting"
        self.waits[request], self.passed[request] = Wait(name, amounts, kind), 0
        self._serve(request)
        self.pump()
        return None

    def cancel(self, request: UUID) -> None:
        self._stop_waiting(self.waits[request].name, "cancelled")
        self.pump()

    def release(self, name: int, epoch: int, amounts: Vector | None, release: UUID) -> str:
        row = self.rows[name]
        if release in self.releases:
            return "repeated"
        if row.epoch != epoch or not (row.live or row.kept):
            return "stale"
        refuse_if(amounts is not None and not banker.fits(amounts, row.held))
        self.releases.add(release)
        if amounts is None:
            self._end_shift(name)
        self._give_back(name, row.held if amounts is None else amounts)
        return "released"

    def finish(self, name: int) -> None:
        row = self.rows[name]
        row.live, row.finished = False, True
        self._stop_waiting(name, "cancelled")
        self._give_back(name, row.held)

    def take(self, name: int, epoch: int) -> bool:
        row, fresh = self.rows[name], (name, epoch) not in self.taken
        self.taken.add((name, epoch))
        return fresh and row.live and row.epoch == epoch

    def renew(self, name: int, epoch: int) -> bool:
        return self.rows[name].live and self.rows[name].epoch == epoch

    def lose(self, name: int) -> None:
        self.rows[name].epoch += 1
        self._end_shift(name)
        self._give_back(name, self.rows[name].held)

    def be_late(self, request: UUID) -> None:
        self._stop_waiting(self.waits[request].name, "expired")
        self.pump()

    def keep(self, name: int, epoch: int) -> None:
        row = self.rows[name]
        row.kept = True
        try:
            self._refuse_if_unsafe()
        except Refused:
            row.kept = False
            raise
        row.epoch += 1
        self._end_shift(name)
        self.pump()

    def resume(self, name: int) -> None:
        row = self.rows[name]
        row.kept = False
        try:
            self._refuse_if_unsafe()
        except Refused:
            row.kept = True
            raise
        row.epoch, row.live = row.epoch + 1, True
        self.pump()

    def end_keep(self, name: int) -> None:
        self._give_back(name, self.rows[name].held)

    def set_capacity(self, capacity: Vector) -> None:
        used, before = banker.minus(self.capacity, self.available), (self.capacity, self.available)
        refuse_if(not banker.fits(used, capacity))
        shrinks = not banker.fits(self.capacity, capacity)
        refuse_if(
            shrinks
            and any(
                not row.finished and not banker.fits(row.maximum, capacity)
                for row in self.rows.values()
            )
        )
        self.capacity, self.available = capacity, banker.minus(capacity, used)
        if shrinks and banker.find_safe_sequence(self._state()[0]) is None:
            self.capacity, self.available = before
            raise Refused
        self.pump()

    def override_capacity(self, capacity: Vector) -> None:
        self.available = banker.minus(capacity, banker.minus(self.capacity, self.available))
        self.capacity = capacity
        self._put_up_with_it()

    def override_claim(self, name: int, claim: Vector) -> None:
        self.rows[name].maximum = claim
        self._put_up_with_it()

    def _put_up_with_it(self) -> None:
        self.is_safe = self.is_safe and banker.find_safe_sequence(self._state()[0]) is not None
        self.pump()

    def change_claim(self, name: int, claim: Vector) -> None:
        row = self.rows[name]
        bound, before = row.held, row.maximum
        for wait in self.waits.values():
            bound = banker.plus(bound, wait.amounts) if wait.name == name else bound
        refuse_if(not banker.fits(bound, claim) or not banker.fits(claim, self.capacity))
        self._refuse_beyond_share(row, claim)
        row.maximum = claim
        if not banker.fits(claim, before) and banker.find_safe_sequence(self._state()[0]) is None:
            row.maximum = before
            raise Refused
        self.pump()

    def pump(self) -> int:
        """Serve all requests in turn, again and again: a start may fill a share, and so make
        another request the first.
        """
        served = 0
        while more := sum(self._serve(request) for request in list(self.waits)):
            served += more
        return served

    def _serve(self, request: UUID) -> bool:
        self.is_safe = self.is_safe or banker.find_safe_sequence(self._state()[0]) is not None
        wait = self.waits[request]
        row = self.rows[wait.name]
        state, names = self._state(wait.name)
        decision = banker.decide_with_evidence(
            state, names.index(wait.name), wait.amounts, state_is_safe=self.is_safe
        )
        use = self._use()
        first = self._first_in_turn(row.share)
        asker, rules = (
            QueuedRequest(
                wait.amounts,
                any(row.held),
                claim=row.maximum,
                room=use.claim_left(row.share),
                set_aside=use.units_set_aside(row.share),
            ),
            TurnRules(self.bypass_limit, self.capacity, (0,) * len(self.capacity)),
        )
        refused = fairness.turn_refusal(
            rules,
            asker,
            self.available,
            passed=self.passed[first] if first in self._ahead_of(request) else None,
        )
        if decision.verdict is not BankVerdict.GRANT or refused:
            return False
        for other in self._ahead_of(request):
            self.passed[other] = min(self.passed[other] + 1, self.bypass_limit + 1)
        del self.waits[request]
        self.requests[request] = "granted"
        self.available, row.held = (
            banker.minus(self.available, wait.amounts),
            banker.plus(row.held, wait.amounts),
        )
        if wait.kind == "start":
            row.epoch, row.live = row.epoch + 1, True
        return True

    def _ahead_of(self, request: UUID) -> list[UUID]:
        return list(self.waits)[: list(self.waits).index(request)]

    def _first_in_turn(self, share: int | None) -> UUID | None:
        reach, use = self.capacity, self._use()
        for row in self.rows.values():
            reach = banker.minus(reach, row.held) if row.kept else reach
        return next(
            (
                request
                for request, wait in self.waits.items()
                if banker.fits(self.rows[wait.name].maximum, reach)
                and (
                    self.rows[wait.name].share == share
                    or any(self.rows[wait.name].held)
                    or not use.is_full_for(self.rows[wait.name].share, self.rows[wait.name].maximum)
                )
            ),
            None,
        )

    def _state(self, name: int | None = None) -> tuple[State, list[int]]:
        names = [
            other
            for other, row in self.rows.items()
            if other == name or (any(row.held) and not row.kept)
        ]
        return State(
            self.available,
            tuple(self.rows[n].maximum for n in names),
            tuple(self.rows[n].held for n in names),
        ), names

    def _refuse_if_unsafe(self) -> None:
        refuse_if(banker.find_safe_sequence(self._state()[0]) is None)

    def _stop_waiting(
        self, name: int, state: str, kinds: tuple[str, ...] = ("start", "growth", "stage")
    ) -> None:
        for request in [
            request
            for request, wait in self.waits.items()
            if wait.name == name and wait.kind in kinds
        ]:
            del self.waits[request]
            self.requests[request] = state

    def _end_shift(self, name: int) -> None:
        self.rows[name].live = False
        self._stop_waiting(name, "cancelled", ("growth", "stage"))

    def _give_back(self, name: int, amounts: Vector) -> None:
        row = self.rows[name]
        row.held, self.available = (
            banker.minus(row.held, amounts),
            banker.plus(self.available, amounts),
        )
        row.kept = row.kept and any(row.held)
        self.pump()
