"""Say in a sentence why a request waits, who stands in the way and what will end the wait. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allocation import banker
from allocation.banker import Matrix, State, Vector, Verdict

NAMES_AT_MOST = 5


@dataclass(frozen=True)
class Parties:
    """Who stands for the rows and the columns of a State, in their order."""

    ids: tuple[int, ...]
    labels: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Blocker:
    """A process that holds units of a class that is short."""

    process: int
    label: str
    key: str
    units: int


@dataclass(frozen=True)
class Explanation:
    """Why a request is not granted at this moment."""

    verdict: Verdict
    reason: str
    blockers: tuple[Blocker, ...]
    what_ends_it: str


def explain(state: State, parties: Parties, process: int, request: Vector, verdict: Verdict) -> Explanation:
    """Explain `verdict`, given on `request` by `process` (a row of `state`)."""
    if verdict is Verdict.WAIT_UNAVAILABLE:
        return _unavailable(state, parties, process, request)
    if verdict is Verdict.WAIT_UNSAFE:
        return _unsafe(banker.granted(state, process, request), parties, process)
    return Explanation(Verdict.GRANT, "Nothing stands in the way any more.", (), "It is granted within seconds.")


def excess(keys: Sequence[str], request: Vector, need: Vector) -> str:
    """Name the classes of which more is asked than needed: `memory: 5 asked, at most 3`."""
    return "; ".join(f"{key}: {r} asked, at most {n}" for key, r, n in zip(keys, request, need, strict=True) if r > n)


def _unavailable(state: State, parties: Parties, process: int, request: Vector) -> Explanation:
    short = {j: r - s for j, (r, s) in enumerate(zip(request, state.available, strict=True)) if r > s}
    blockers = _holders(state.allocation, parties, rows=range(len(parties.ids)), classes=short, but=process)
    parts = [f"{lack} {parties.keys[j]} short ({request[j]} asked, {state.available[j]} free)" for j, lack in short.items()]
    return Explanation(
        Verdict.WAIT_UNAVAILABLE,
        f"Unavailable: {'; '.join(parts)}. {_held_by(blockers)}",
        blockers,
        f"It ends when {_all_of([f'{lack} {parties.keys[j]}' for j, lack in short.items()])} come back{_from(blockers)}.",
    )


def _unsafe(after: State, parties: Parties, process: int) -> Explanation:
    """`after` is the state that the grant would make: who finishes in it, and who would be stuck for what?"""
    order = banker.finishable(after)
    work = banker.work_along(after, order)[-1]
    stuck = [i for i in range(len(parties.ids)) if i not in order]
    # From a safe state the requester is always among the stuck; from a flagged one it may not be.
    first = process if process in stuck else stuck[0]
    short = {j: n - w for j, (n, w) in enumerate(zip(after.need[first], work, strict=True)) if n > w}
    blockers = _holders(after.allocation, parties, rows=stuck, classes=short, but=first)
    parts = [f"{after.need[first][j]} {parties.keys[j]} with only {work[j]} sure to be free" for j in short]
    others = [parties.labels[i] for i in stuck if i != process]
    return Explanation(
        Verdict.WAIT_UNSAFE,
        f"Unsafe: after this grant {parties.labels[first]} could still ask for {_all_of(parts)}, so {_some(others) or 'it'} "
        f"and this process could block each other for ever. {_held_by(blockers)}",
        blockers,
        f"It ends when {_all_of([parties.keys[j] for j in short])} come back{_from(blockers)}.",
    )


def _holders(allocation: Matrix, parties: Parties, *, rows: Sequence[int], classes: dict[int, int], but: int) -> tuple[Blocker, ...]:
    """Those of `rows` that hold some of `classes`, for each class the largest holder first."""
    found = [
        (j, -allocation[i][j], Blocker(parties.ids[i], parties.labels[i], parties.keys[j], allocation[i][j]))
        for i in rows
        for j in classes
        if i != but and allocation[i][j] > 0
    ]
    return tuple(blocker for _, _, blocker in sorted(found, key=lambda entry: entry[:2]))


def _held_by(blockers: Sequence[Blocker]) -> str:
    return f"Held by {_some([f'{b.label} ({b.units} {b.key})' for b in blockers])}." if blockers else "No other process holds any."


def _from(blockers: Sequence[Blocker]) -> str:
    return f" from {_some(list(dict.fromkeys(b.label for b in blockers)), last='or')}" if blockers else ""


def _some(names: Sequence[str], *, last: str = "and") -> str:
    shown = list(names[:NAMES_AT_MOST])
    if len(names) > NAMES_AT_MOST:
        shown.append(f"{len(names) - NAMES_AT_MOST} more")
    return _all_of(shown, last=last)


def _all_of(names: Sequence[str], *, last: str = "and") -> str:
    return f" {last} ".join(part for part in (", ".join(names[:-1]), "".join(names[-1:])) if part)
