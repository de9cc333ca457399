"""A separate record of a bank's state, and the promises that any bank must keep after each step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple
from uuid import UUID

Vector = tuple[int, ...]
#: more units than any bank has
NO_LIMIT = 2**31 - 1


class ShareRow(NamedTuple):
    """The reserve and the limit of a share."""

    reserved: Vector
    limits: Vector


@dataclass
class Row:
    """A process, as the bank shows it."""

    maximum: Vector
    held: Vector
    epoch: int = 0
    live: bool = False
    kept: bool = False
    finished: bool = False
    share: int | None = None

    @property
    def need(self) -> Vector:
        return less(self.maximum, self.held)


@dataclass(frozen=True)
class Wait:
    """A request that waits, in the order of arrival."""

    name: int
    amounts: Vector
    kind: str


@dataclass(frozen=True)
class Seen:
    """The visible state of a bank.

    `passed` has the waiting requests, the first in turn first, and how often each was passed.
    """

    capacity: Vector
    available: Vector
    is_safe: bool
    rows: dict[int, Row]
    requests: dict[UUID, str]
    passed: dict[UUID, int] = field(default_factory=dict)


@dataclass
class Book:
    """The separate record.

    Only grants that were made while other processes gave units back are read from the bank, and
    then judged.
    """

    capacity: Vector
    rows: dict[int, Row] = field(default_factory=dict)
    requests: dict[UUID, str] = field(default_factory=dict)
    waits: dict[UUID, Wait] = field(default_factory=dict)
    overridden: bool = False
    shares: dict[int, ShareRow] = field(default_factory=dict)

    @property
    def available(self) -> Vector:
        free = self.capacity
        for row in self.rows.values():
            free = less(free, row.held)
        return free

    def who(
        self,
        *,
        live: bool | None = None,
        kept: bool | None = False,
        waiting: bool | None = None,
        holding: bool | None = None,
    ) -> list[int]:
        """The names of the unfinished processes that satisfy all these conditions."""
        waiters = {wait.name for wait in self.waits.values()}
        return [
            name
            for name, row in self.rows.items()
            if not row.finished
            and kept in (None, row.kept)
            and live in (None, row.live)
            and waiting in (None, name in waiters)
            and holding in (None, any(row.held))
        ]

    def wait_of(self, name: int) -> tuple[UUID, Wait] | None:
        return next(
            ((request, wait) for request, wait in self.waits.items() if wait.name == name), None
        )

    def claimed(self, share: int) -> Vector:
        """The sum of the claims of a share's processes that hold something."""
        rows = [row.maximum for row in self.rows.values() if row.share == share and any(row.held)]
        return reduce(more, rows, (0,) * len(self.capacity))

    def is_beyond_limit(self, name: int) -> bool:
        """Whether a process that holds nothing may not start because of its share's limit."""
        row = self.rows[name]
        if row.share is None or any(row.held):
            return False
        return not fits(more(self.claimed(row.share), row.maximum), self.shares[row.share].limits)

    def set_aside(self, share: int | None, amounts: Vector) -> Vector:
        """The units that a start must leave free for other shares: the parts of their reserves that
        they do not hold, but never so much that the start could not be served at all.
        """
        kept = (0,) * len(self.capacity)
        for other, terms in self.shares.items():
            rows = [row.held for row in self.rows.values() if row.share == other]
            held = reduce(more, rows, (0,) * len(self.capacity))
            if other != share:
                left = [max(0, units) for units in less(terms.reserved, held)]
                kept = more(kept, tuple(left))
        return tuple(
            min(units, max(0, most - asked)) if asked else 0
            for units, most, asked in zip(kept, self.capacity, amounts, strict=True)
        )

    def is_kept_back(self, name: int, amounts: Vector) -> bool:
        """Whether a request that is free and safe is held back for shares."""
        row = self.rows[name]
        if any(row.held):
            return False
        return self.is_beyond_limit(name) or not fits(
            self.set_aside(row.share, amounts), less(self.available, amounts)
        )

    def first_in_turn(self, order: Iterable[UUID], share: int | None = None) -> UUID | None:
        """The first waiting request that neither reservations nor the limits of other shares hold
        back: other processes of its share may have to wait for its turn.
        """
        reach = self.capacity
        for row in self.rows.values():
            reach = less(reach, row.held) if row.kept else reach
        return next(
            (
                request
                for request in order
                if fits(self.rows[self.waits[request].name].maximum, reach)
                and (
                    self.rows[self.waits[request].name].share == share
                    or not self.is_beyond_limit(self.waits[request].name)
                )
            ),
            None,
        )

    def is_safe(self) -> bool:
        return some_order_finishes(self.available, self._finishers())

    def stuck(self) -> set[int]:
        """The processes that could not finish even if all that can had finished."""
        work, left = (
            self.available,
            {name: row for name, row in self.rows.items() if any(row.held) and not row.kept},
        )
        while ready := [name for name, row in left.items() if fits(row.need, work)]:
            for name in ready:
                work = more(work, left.pop(name).held)
        return set(left)

    def verdict(self, name: int, amounts: Vector) -> str:
        """The definition's answer to a request within Need, regardless of turns."""
        if not fits(amounts, self.available):
            return "wait_unavailable"
        row = self.rows[name]
        others = [other for other in self._finishers() if other is not row]
        after = [*others, replace(row, held=more(row.held, amounts))]
        if some_order_finishes(less(self.available, amounts), after) or (
            not self.is_safe() and fits(row.need, self.available)
        ):
            return "grant"
        return "wait_unsafe"

    def asked(self, request: UUID, name: int, amounts: Vector, kind: str) -> None:
        if not fits(amounts, self.rows[name].need):
            self.requests[request] = "rejected"
            return
        if kind == "stage" and (growth := self.wait_of(name)):
            self.stop_waiting(growth[0], "cancelled")
        self.requests[request] = "waiting"
        self.waits[request] = Wait(name, amounts, kind)

    def granted(self, request: UUID) -> None:
        wait = self.waits.pop(request)
        self.requests[request] = "granted"
        row = self.rows[wait.name]
        row.held = more(row.held, wait.amounts)
        if wait.kind == "start":
            row.epoch, row.live = row.epoch + 1, True

    def stop_waiting(self, request: UUID, state: str) -> None:
        del self.waits[request]
        self.requests[request] = state

    def given_back(self, name: int, amounts: Vector) -> None:
        row = self.rows[name]
        row.held = less(row.held, amounts)
        row.kept = row.kept and any(row.held)

    def shift_ended(self, name: int, *, also_starts: bool = False) -> None:
        self.rows[name].live = False
        if (found := self.wait_of(name)) and (also_starts or found[1].kind != "start"):
            self.stop_waiting(found[0], "cancelled")

    def _finishers(self) -> list[Row]:
        return [row for row in self.rows.values() if any(row.held) and not row.kept]


def some_order_finishes(work: Vector, rows: Iterable[Row]) -> bool:
    """The definition of a safe state: every order is tried."""
    left = list(rows)
    return not left or any(
        fits(row.need, work)
        and some_order_finishes(more(work, row.held), [*left[:i], *left[i + 1 :]])
        for i, row in enumerate(left)
    )


def fits(a: Vector, b: Vector) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))


def more(a: Vector, b: Vector) -> Vector:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def less(a: Vector, b: Vector) -> Vector:
    return tuple(x - y for x, y in zip(a, b, strict=True))
