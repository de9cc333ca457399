"""The actions of processes, operators and time on a bank, in any order, and the promises that hold
after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from allocation.errors import AllocationError
from tests.allocation.machine.book import Book, Row, Vector, fits, less, more
from tests.allocation.machine.share_rules import ShareRules
from tests.allocation.machine.turn_promises import TurnPromises

CLASSES = 2
MOST_PROCESSES = 4
#: the possible actions, each repeated by its weight; one rule draws from them, since of several
#: rules Hypothesis leaves some out
DEEDS = [
    *["ask"] * 5,
    "register",
    "give_back",
    "give_back",
    "leave",
    "pause",
    "change_limits",
    "change_share",
    "change_share",
    "err",
]


def vectors(least: Sequence[int], most: Sequence[int]) -> st.SearchStrategy[Vector]:
    return st.tuples(
        *[st.integers(low, max(low, high)) for low, high in zip(least, most, strict=True)]
    )


def up_to(most: Sequence[int]) -> st.SearchStrategy[Vector]:
    return vectors((0,) * CLASSES, most)


class BankMachine(ShareRules, TurnPromises, RuleBasedStateMachine):
    """Rules for any bank; a subclass chooses the bank by `open_bank`."""

    open_bank: Callable[[Vector, int], Any]

    @initialize(
        data=st.data(), capacity=st.tuples(*[st.integers(2, 4)] * CLASSES), limit=st.integers(0, 2)
    )
    def begin(self, data: st.DataObject, capacity: Vector, limit: int) -> None:
        self.book, self.bank, self.limit = Book(capacity), self.open_bank(capacity, limit), limit
        self.open_shares(data)
        self.seen, self.first = self.bank.look(), dict[int | None, UUID | None]()
        self.asked: list[tuple] = []
        self.released: list[tuple] = []
        self.taken: set[tuple[int, int]] = set()
        self.numbers = 0
        self.stuck: set[int] = set()
        for _ in range(3):
            self.register(data)

    def register(self, data: st.DataObject) -> None:
        if len(self.book.who(kept=None)) == MOST_PROCESSES:
            return
        half = [units // 2 for units in self.book.capacity]
        claim, share = data.draw(vectors(half, self.book.capacity)), self.draw_share(data)
        refused = share is not None and not fits(claim, self.book.shares[share].limits)
        name = self.does(lambda: self.bank.register(claim, share), unless=refused)
        if not refused:
            self.book.rows[name] = Row(claim, (0,) * CLASSES, share=share)

    @rule(data=st.data(), deed=st.sampled_from(DEEDS))
    def something_happens(self, data: st.DataObject, deed: str) -> None:
        getattr(self, deed)(data)

    def ask(self, data: st.DataObject) -> None:
        """Request a start, or growth or a stage within a shift; a stage also while growth waits."""
        growing = [wait.name for wait in self.book.waits.values() if wait.kind == "growth"]
        free = [name for name in self.book.who(waiting=False) if any(self.book.rows[name].need)]
        if not free + growing:
            return self.register(data)
        name = data.draw(st.sampled_from(free + growing))
        row = self.book.rows[name]
        kind = (
            "start"
            if not row.live
            else "stage"
            if name in growing
            else data.draw(st.sampled_from(["growth", "stage"]))
        )
        if any(amounts := data.draw(up_to(row.need))):
            self.request(name, amounts, kind)
        return None

    def request(self, name: int, amounts: Vector, kind: str) -> None:
        row, request = self.book.rows[name], self.number()
        args = (name, amounts, kind, request, row.epoch)
        self.asked.append(args)
        self.does(lambda: self.bank.ask(*args), unless=not fits(amounts, row.need))
        self.book.asked(request, name, amounts, kind)
        kept_back = self.book.is_kept_back(name, amounts)
        if self.bank.look().requests[request] == "granted":
            assert self.book.verdict(name, amounts) == "grant", "granted against the definition"
            assert not kept_back, "granted what shares keep back"

    def give_back(self, data: st.DataObject) -> None:
        """Release some units, or all of them and with them the shift."""
        if who := self.book.who(live=True):
            name = data.draw(st.sampled_from(who))
            self.release(
                name,
                data.draw(st.none() | up_to(self.book.rows[name].held)),
                replies_lost=data.draw(st.integers(0, 1)),
            )

    def release(self, name: int, amounts: Vector | None, *, replies_lost: int) -> None:
        row = self.book.rows[name]
        args = (name, row.epoch, amounts, self.number())
        self.released.append(args)
        assert self.bank.release(*args) == "released"
        for _ in range(replies_lost):
            assert self.bank.release(*args) == "repeated"
        if amounts is None:
            self.book.shift_ended(name)
        self.book.given_back(name, row.held if amounts is None else amounts)

    def leave(self, data: st.DataObject) -> None:
        """End a process, lose its shift, or cancel its waiting request."""
        if not (who := self.book.who()):
            return
        name = data.draw(st.sampled_from(who))
        ways = [self.end]
        ways += [self.lose] if self.book.rows[name].live else []
        ways += [self.cancel, self.be_late] if self.book.wait_of(name) else []
        data.draw(st.sampled_from(ways))(name)

    def end(self, name: int) -> None:
        self.bank.finish(name)
        self.book.shift_ended(name, also_starts=True)
        self.book.given_back(name, self.book.rows[name].held)
        self.book.rows[name].finished = True

    def lose(self, name: int) -> None:
        self.bank.lose(name)
        self.book.shift_ended(name)
        self.book.given_back(name, self.book.rows[name].held)
        self.book.rows[name].epoch += 1

    def cancel(self, name: int) -> None:
        request, _ = self.book.wait_of(name)
        self.bank.cancel(request)
        self.book.stop_waiting(request, "cancelled")

    def be_late(self, name: int) -> None:
        request, _ = self.book.wait_of(name)
        self.bank.be_late(request)
        self.book.stop_waiting(request, "expired")

    def pause(self, data: st.DataObject) -> None:
        """Keep the units of a shift, continue with it, or let its time run out."""
        kept, holding = self.book.who(kept=True), self.book.who(live=True, holding=True)
        ways = [(self.keep, name) for name in holding] + [
            (way, name) for name in kept for way in (self.resume, self.stop_keeping)
        ]
        if ways:
            way, name = data.draw(st.sampled_from(ways))
            way(name)

    def keep(self, name: int) -> None:
        row = self.book.rows[name]
        row.kept = True
        row.kept = self.book.is_safe()
        self.does(lambda: self.bank.keep(name, row.epoch), unless=not row.kept)
        if row.kept:
            self.book.shift_ended(name)
            row.epoch += 1

    def resume(self, name: int) -> None:
        row = self.book.rows[name]
        row.kept = False
        row.kept = not self.book.is_safe()
        self.does(lambda: self.bank.resume(name), unless=row.kept)
        if not row.kept:
            row.epoch, row.live = row.epoch + 1, True

    def stop_keeping(self, name: int) -> None:
        self.bank.end_keep(name)
        self.book.given_back(name, self.book.rows[name].held)

    def change_limits(self, data: st.DataObject) -> None:
        ways = [self.set_capacity, self.change_claim]
        data.draw(st.sampled_from([*ways * 3, self.override_capacity, self.override_claim]))(data)

    def set_capacity(self, data: st.DataObject) -> None:
        old, in_use = self.book.capacity, less(self.book.capacity, self.book.available)
        capacity = data.draw(
            vectors([max(units - 1, 0) for units in old], [units + 1 for units in old])
        )
        too_much = any(
            not fits(self.book.rows[name].maximum, capacity) for name in self.book.who(kept=None)
        )
        self.book.capacity = capacity
        refused = not fits(in_use, capacity) or (
            not fits(old, capacity) and (too_much or not self.book.is_safe())
        )
        self.does(lambda: self.bank.set_capacity(capacity), unless=refused)
        self.book.capacity = old if refused else capacity

    def override_capacity(self, data: st.DataObject) -> None:
        """Override a capacity as far as an administrator may: never below what is in use or
        claimed.
        """
        bounds = [
            less(self.book.capacity, self.book.available),
            *(self.book.rows[name].maximum for name in self.book.who(kept=None)),
        ]
        capacity = data.draw(
            vectors([max(units) for units in zip(*bounds, strict=True)], self.book.capacity)
        )
        self.bank.override_capacity(capacity)
        self.book.capacity = capacity
        self.is_put_up_with()

    def override_claim(self, data: st.DataObject) -> None:
        if holders := self.book.who(kept=None, holding=True):
            name = data.draw(st.sampled_from(holders))
            claim = data.draw(vectors(self.book.rows[name].maximum, self.book.capacity))
            if self.claim_exceeds_share(name, claim):
                return  # that may not be overridden
            self.bank.override_claim(name, claim)
            self.book.rows[name].maximum = claim
            self.is_put_up_with()

    def is_put_up_with(self) -> None:
        self.book.overridden = self.book.overridden or not self.book.is_safe()
        self.stuck = self.book.stuck()

    def change_claim(self, data: st.DataObject) -> None:
        if not (who := self.book.who(kept=None)):
            return
        name = data.draw(st.sampled_from(who))
        row, waits = self.book.rows[name], self.book.wait_of(name)
        old, bound = row.maximum, more(row.held, waits[1].amounts) if waits else row.held
        claim = data.draw(up_to([units + 1 for units in self.book.capacity]))
        refused = (
            not fits(bound, claim)
            or not fits(claim, self.book.capacity)
            or self.claim_exceeds_share(name, claim)
        )
        if not refused:
            row.maximum = claim
            refused = not fits(claim, old) and not self.book.is_safe()
            row.maximum = old if refused else claim
        self.does(lambda: self.bank.change_claim(name, claim), unless=refused)

    def err(self, data: st.DataObject) -> None:
        """Repeat a request, send one too late, or ask for or claim too much: the bank's state must
        not change.
        """
        ways = [self.claim_too_much]
        ways += [self.ask_too_much] if self.book.who(waiting=False) else []
        ways += [self.send_a_request_again] if self.asked else []
        ways += [self.send_a_release_again] if self.released else []
        ways += [self.come_too_late, self.take_and_renew] if self.book.who(live=True) else []
        data.draw(st.sampled_from(ways))(data)
        assert self.bank.pump() == 0, "somebody was left waiting whom a pump could serve"

    def claim_too_much(self, data: st.DataObject) -> None:
        claim = more(self.book.capacity, data.draw(st.sampled_from([(0, 1), (1, 0), (1, 1)])))
        self.does(lambda: self.bank.register(claim, None), unless=True)

    def ask_too_much(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.book.who(waiting=False)))
        row = self.book.rows[name]
        self.request(
            name,
            more(row.need, data.draw(st.sampled_from([(0, 1), (1, 0)]))),
            "stage" if row.live else "start",
        )

    def send_a_request_again(self, data: st.DataObject) -> None:
        args = data.draw(st.sampled_from(self.asked))
        self.does(lambda: self.bank.ask(*args), unless=self.book.requests[args[3]] == "rejected")

    def send_a_release_again(self, data: st.DataObject) -> None:
        assert self.bank.release(*data.draw(st.sampled_from(self.released))) == "repeated"

    def come_too_late(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.book.who(live=True)))
        assert (
            self.bank.release(name, self.book.rows[name].epoch - 1, None, self.number()) == "stale"
        )

    def take_and_renew(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.book.who(live=True)))
        shift = (name, self.book.rows[name].epoch)
        assert self.bank.take(*shift) is (shift not in self.taken)
        assert self.bank.renew(*shift)
        assert not self.bank.take(name, shift[1] - 1)
        assert not self.bank.renew(name, shift[1] - 1)
        self.taken.add(shift)

    @invariant()
    def bank_and_book_agree(self) -> None:
        before, self.seen = self.seen, self.bank.look()
        granted = [
            request for request in self.book.waits if self.seen.requests[request] == "granted"
        ]
        self.everybody_counts_who_passes(before, granted)
        waits = {request: self.book.waits[request] for request in granted}
        starts = {one: wait for one, wait in waits.items() if not any(self.row_of(wait).held)}
        for request in granted:
            self.book.granted(request)
        self.nobody_jumps_the_queue(before, starts)
        self.starts_keep_to_shares([*starts.values()], is_alone=len(granted) == 1)
        assert self.seen.requests == self.book.requests
        assert self.seen.rows == self.book.rows
        assert (self.seen.capacity, self.seen.available) == (
            self.book.capacity,
            self.book.available,
        )
        assert all(units >= 0 for units in self.seen.available)
        self.nobody_is_in_danger(is_called_safe=self.seen.is_safe)
        self.nobody_waits_who_need_not()

    def nobody_is_in_danger(self, *, is_called_safe: bool) -> None:
        stuck = self.book.stuck()
        assert not (is_called_safe and stuck), "the bank calls an unsafe state safe"
        assert self.book.overridden or not stuck
        assert stuck <= self.stuck, "a step that nobody forced has put somebody in danger"
        self.stuck = stuck

    def teardown(self) -> None:
        """Let every process that does not wait request its whole Need, then finish: none may be
        left.
        """
        self.let_everybody_be_able_to_finish()
        while movers := self.book.who(waiting=False):
            for name in movers:
                row = self.book.rows[name]
                if any(row.need):
                    self.request(name, row.need, "stage" if row.live else "start")
                else:
                    self.end(name)
                self.bank_and_book_agree()
        assert not self.book.who(), "somebody is left who can never finish"

    def let_everybody_be_able_to_finish(self) -> None:
        """Let reservations expire, and undo the administrator's overrides."""
        for name in self.book.who(kept=True):
            self.stop_keeping(name)
            self.bank_and_book_agree()
        if self.book.overridden:
            self.book.capacity = (9,) * CLASSES
            self.bank.set_capacity(self.book.capacity)
            self.bank_and_book_agree()

    def does(self, call: Callable[[], Any], *, unless: bool) -> Any:
        """Make the call, which must be refused exactly if the book says so."""
        if not unless:
            return call()
        with pytest.raises(AllocationError):
            call()
        return None

    def number(self) -> UUID:
        self.numbers += 1
        return UUID(int=self.numbers)
