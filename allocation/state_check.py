"""Answers a question about an invented state: whether it is safe, and the verdict on a request.
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allocation.errors import RequestExceedsNeed
from allocation.reasons import Parties, Party, explain
from allocation.rules import banker
from allocation.rules.banker import BankVerdict, State, Vector
from allocation.wait_ends import capacity_of_classes
from allocation.wording import UnitWords, excess_sentence, first_few_in_words, joined_in_words

EXCEEDS_NEED = "exceeds_need"


@dataclass(frozen=True)
class StateCheck:
    """The state after the request was granted, if possible; otherwise the given state."""

    #: the value of a verdict, or EXCEEDS_NEED; None if nothing was requested
    verdict: str | None
    is_safe: bool
    #: the safe sequence; None if the state is unsafe
    sequence: tuple[int, ...] | None
    #: the Work of each process of the sequence, and as one more entry the units that are free when
    #: all have finished; None if the state is unsafe
    work: tuple[Vector, ...] | None
    reason: str


def check_state(state: State, parties: Parties | None = None) -> StateCheck:
    """Check whether the state is safe.

    parties: the names of its rows and columns; without them, these are numbered from 0.
    """
    return _make_check(
        state,
        None,
        "Every process can finish, in the order given."
        if _is_safe(state)
        else _unsafe_reason(state, parties),
    )


def check_request(
    state: State, process: int, request: Sequence[int], parties: Parties | None = None
) -> StateCheck:
    """The verdict on a request by the process in a row of the state.

    Raises ValueError or IndexError for an invalid request.
    """
    wanted, parties = tuple(request), parties or parties_with_numbers(state)
    try:
        verdict = banker.decide(state, process, wanted, state_is_safe=_is_safe(state))
    except RequestExceedsNeed:
        more = excess_sentence(
            [measure.key for measure in parties.measures], wanted, state.need[process]
        )
        return _make_check(
            state,
            EXCEEDS_NEED,
            f"More than the process declared: {more}. It may ask again for less, or stop.",
        )
    if verdict is BankVerdict.WAIT_UNAVAILABLE:
        return _make_check(
            state, verdict.value, explain(state, parties, process, wanted, verdict).reason
        )
    after = banker.state_after_grant(state, process, wanted)
    if verdict is BankVerdict.GRANT:
        return _make_check(
            after,
            verdict.value,
            "Granted: every process can still finish."
            if _is_safe(after)
            else "Granted: this process can finish.",
        )
    return _make_check(
        after, verdict.value, explain(state, parties, process, wanted, verdict).reason
    )


def _make_check(state: State, verdict: str | None, reason: str) -> StateCheck:
    order = banker.find_safe_sequence(state)
    if order is None:
        return StateCheck(verdict, False, None, None, reason)
    return StateCheck(verdict, True, tuple(order), tuple(banker.work_vectors(state, order)), reason)


def _is_safe(state: State) -> bool:
    return banker.find_safe_sequence(state) is not None


def _unsafe_reason(state: State, parties: Parties | None) -> str:
    """The reason why the state is unsafe: claims that exceed the capacity, or mutual waits."""
    parties, units = parties or parties_with_numbers(state), capacity_of_classes(state, ())
    finish = set(banker.finishable_processes(state))
    stuck = [i for i in range(len(state.maximum)) if i not in finish]
    beyond = [i for i in stuck if not banker.fits(state.maximum[i], units)]
    waiting = first_few_in_words([parties.rows[i].label for i in stuck if i not in beyond])
    if not beyond:
        return f"Unsafe: {waiting} could block each other forever."
    claims = first_few_in_words([_excess_claims(state, parties, i, units) for i in beyond])
    whose = "they hold" if len(beyond) > 1 else "it holds"
    others = f" {waiting} could wait forever for what {whose}." if waiting else ""
    return f"Unsafe: {claims}. Lower the claim or raise the capacity.{others}"


def _excess_claims(state: State, parties: Parties, row: int, units: Vector) -> str:
    return f"{parties.rows[row].label} claims " + joined_in_words(
        [
            f"{measure.amount(most)} of {there:,} that there are"
            for measure, most, there in zip(
                parties.measures, state.maximum[row], units, strict=True
            )
            if most > there
        ]
    )


def parties_with_names(state: State, processes: Sequence[str], classes: Sequence[str]) -> Parties:
    rows = (
        Party(i, name, held)
        for i, (name, held) in enumerate(zip(processes, state.allocation, strict=True))
    )
    return Parties(tuple(rows), tuple(UnitWords(name, "units") for name in classes))


def parties_with_numbers(state: State) -> Parties:
    """Processes and classes by their numbers from 0, as in the question."""
    return parties_with_names(
        state,
        [f"P{i}" for i in range(len(state.allocation))],
        [f"R{j}" for j in range(len(state.available))],
    )
