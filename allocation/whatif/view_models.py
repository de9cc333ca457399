"""A state and the algorithm's verdict on it, in the words of the page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from allocation.rules.banker import BankVerdict, State, Vector, state_after_grant
from allocation.state_check import (
    EXCEEDS_NEED,
    StateCheck,
    check_request,
    check_state,
    parties_with_names,
)
from allocation.whatif.proofs import (
    FEW_PROCESSES,
    MOST_LOOKS,
    MOST_ORDERS,
    Scopes,
    Search,
    check_in_both_scopes,
    safe_orders,
)
from allocation.whatif.sandbox import Sandbox
from allocation.wording import first_few_in_words

MOST_LINES = 100
#: the sentences on the paper's screen, and further ones in the same style
HEADLINES = {
    BankVerdict.GRANT.value: "Safe after allocation, can be granted",
    BankVerdict.WAIT_UNAVAILABLE.value: "Must wait: not enough is available",
    BankVerdict.WAIT_UNSAFE.value: "Must wait: not safe after allocation",
    EXCEEDS_NEED: "Error: more than it may still need",
}
KINDS = {
    BankVerdict.GRANT.value: "safe",
    BankVerdict.WAIT_UNAVAILABLE.value: "waiting",
    BankVerdict.WAIT_UNSAFE.value: "waiting",
    EXCEEDS_NEED: "failed",
}


@dataclass(frozen=True)
class ComparisonLine:
    number: int
    name: str
    #: Need and Work for each class, and whether Need fits into Work
    cells: list[tuple[int, int, bool]]
    fits: bool
    work_after: Vector


@dataclass(frozen=True)
class CheckView:
    """The answer to a safety check or, if it has a verdict, to a request."""

    sandbox: Sandbox
    answer: StateCheck
    #: the state that is compared: after the allocation if the request could be granted units, else
    #: the given state
    judged: State
    scopes: Scopes

    @property
    def headline(self) -> str:
        if self.answer.verdict == BankVerdict.GRANT.value and not self.answer.is_safe:
            return "Can be granted, though the state is not safe: this process can finish"
        if self.answer.verdict is None:
            return "Safe" if self.answer.is_safe else "Not safe"
        return HEADLINES[self.answer.verdict]

    @property
    def kind(self) -> str:
        if self.answer.verdict is None:
            return "safe" if self.answer.is_safe else "unsafe"
        return KINDS[self.answer.verdict]

    @property
    def is_after(self) -> bool:
        """Whether the comparisons are about the state after allocation."""
        return self.judged is not self.sandbox.state

    @property
    def can_be_applied(self) -> bool:
        return self.answer.verdict == BankVerdict.GRANT.value

    @property
    def is_error(self) -> bool:
        return self.answer.verdict == EXCEEDS_NEED

    @property
    def looks(self) -> list[ComparisonLine]:
        return [
            ComparisonLine(
                number,
                self.sandbox.processes[look.process],
                [
                    (need, work, need <= work)
                    for need, work in zip(look.need, look.work, strict=True)
                ],
                look.fits,
                look.work_after,
            )
            for number, look in enumerate(self.scopes.full.looks, start=1)
        ]

    @property
    def looks_left_out(self) -> int:
        return max(0, self.scopes.full.comparisons - MOST_LOOKS)

    @property
    def stuck(self) -> str:
        done = set(self.scopes.full.order)
        return first_few_in_words(
            [name for i, name in enumerate(self.sandbox.processes) if i not in done]
        )

    @property
    def order(self) -> list[str]:
        return self._names_of(self.scopes.full.order)

    @cached_property
    def orders(self) -> tuple[int, list[list[str]]] | None:
        """The number of safe sequences, and the first of them; None if the state is too large to
        count them.
        """
        if len(self.sandbox.processes) > FEW_PROCESSES:
            return None
        count, shown = safe_orders(self.judged)
        return count, [self._names_of(order) for order in shown]

    @property
    def orders_left_out(self) -> int:
        return max(0, self.orders[0] - MOST_ORDERS) if self.orders else 0

    @property
    def scope_rows(self) -> list[tuple[str, str, int, bool]]:
        """The two checks: the name, the examined processes, the number of comparisons, and whether
        the check finds the state safe.
        """
        return [
            (
                "Full",
                self._names_looked_at(self.scopes.full),
                self.scopes.full.comparisons,
                self.scopes.full_says_safe,
            ),
            (
                "Reduced",
                self._names_looked_at(self.scopes.reduced),
                self.scopes.reduced.comparisons,
                self.scopes.reduced_says_safe,
            ),
        ]

    def _names_of(self, rows: Iterable[int]) -> list[str]:
        return [self.sandbox.processes[i] for i in rows]

    def _names_looked_at(self, search: Search) -> str:
        names = self._names_of(search.looked_at)
        everybody = len(names) == len(self.sandbox.processes) and len(names) > 1
        return (
            f"all {len(names)}: {first_few_in_words(names)}"
            if everybody
            else first_few_in_words(names) or "no process"
        )


def check_sandbox(sandbox: Sandbox, process: int | None = None, request: Vector = ()) -> CheckView:
    state = sandbox.state
    parties = parties_with_names(state, sandbox.processes, sandbox.classes)
    if process is None:
        return CheckView(sandbox, check_state(state, parties), state, check_in_both_scopes(state))
    answer = check_request(state, process, request, parties)
    if answer.verdict in (EXCEEDS_NEED, BankVerdict.WAIT_UNAVAILABLE.value):
        return CheckView(sandbox, answer, state, check_in_both_scopes(state))
    return CheckView(
        sandbox,
        answer,
        state_after_grant(state, process, request),
        check_in_both_scopes(state, process, request),
    )


@dataclass(frozen=True)
class MatrixLine:
    name: str
    #: Allocation, Max and Need for each class
    cells: list[tuple[int, int, int]]


def matrix_lines(sandbox: Sandbox) -> list[MatrixLine]:
    """The lines of the first MOST_LINES processes; a browser would be slow to show more."""
    state = sandbox.state
    rows: Sequence[tuple[str, Vector, Vector, Vector]] = list(
        zip(sandbox.processes, state.allocation, state.maximum, state.need, strict=True)
    )
    return [
        MatrixLine(name, list(zip(held, most, need, strict=True)))
        for name, held, most, need in rows[:MOST_LINES]
    ]
