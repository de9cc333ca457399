"""A state with names for its classes and processes, and the moves from one state to the next.
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from allocation.rules import banker
from allocation.rules.banker import State, Vector
from allocation.wording import joined_in_words

MOST_PROCESSES, MOST_CLASSES, MOST_UNITS = 1000, 50, 2**31 - 1
MOST_LETTERS = 100


@dataclass(frozen=True)
class Sandbox:
    """A state whose classes and processes have names.

    Raises ValueError, with the remedy, for a name that is not allowed.
    """

    #: m names
    classes: tuple[str, ...]
    #: n names
    processes: tuple[str, ...]
    state: State

    def __post_init__(self) -> None:
        _check_names("class", self.classes, MOST_CLASSES)
        _check_names("process", self.processes, MOST_PROCESSES)
        if not self.classes:
            raise ValueError("There is no resource class. Add at least one.")
        for what, names, length in (
            ("class", self.classes, self.state.available),
            ("process", self.processes, self.state.maximum),
        ):
            if len(names) != len(length):
                raise ValueError(
                    f"There are {len(names)} {what} names for {len(length)} of them. Give each "
                    "its name."
                )
        if (
            max(
                (*self.state.available, *(units for row in self.state.maximum for units in row)),
                default=0,
            )
            > MOST_UNITS
        ):
            raise ValueError(
                f"A number is above {MOST_UNITS}, the most that a pool counts to. Use a "
                "larger unit."
            )

    @property
    def total(self) -> Vector:
        """The capacity of each class: Available and all held units."""
        return tuple(
            free + sum(column)
            for free, column in zip(self.state.available, self._columns(), strict=True)
        )

    @property
    def overclaims(self) -> list[str]:
        """A sentence for each process that claims more units of a class than its capacity."""
        total = self.total
        return [
            f"{name} claims {most:,} of {key}, of which there {'is' if all_ == 1 else 'are'} "
            f"{all_:,}"
            for name, row in zip(self.processes, self.state.maximum, strict=True)
            for key, most, all_ in zip(self.classes, row, total, strict=True)
            if most > all_
        ]

    def grant(self, process: int, request: Vector) -> Sandbox:
        """The state after the request was granted.

        The caller checks whether this is safe.
        """
        return replace(self, state=banker.state_after_grant(self.state, process, request))

    def release(self, process: int, amounts: Vector) -> Sandbox:
        """The state after a process gave units back.

        Raises ValueError if it does not hold that many.
        """
        held = self.state.allocation[process]
        if not banker.fits(amounts, held):
            over = [
                f"{a:,} of {key}, of which it holds {h:,}"
                for key, a, h in zip(self.classes, amounts, held, strict=True)
                if a > h
            ]
            raise ValueError(
                f"{self.processes[process]} cannot release {joined_in_words(over)}. Enter at most "
                "what it holds."
            )
        rows = list(self.state.allocation)
        rows[process] = banker.minus(held, amounts)
        return replace(
            self,
            state=State(
                banker.plus(self.state.available, amounts), self.state.maximum, tuple(rows)
            ),
        )

    def finish(self, process: int) -> Sandbox:
        """The state after a process has given back all its units and left."""
        after = self.release(process, self.state.allocation[process]).state
        rest = [i for i in range(len(self.processes)) if i != process]
        left = State(
            after.available,
            tuple(after.maximum[i] for i in rest),
            tuple(after.allocation[i] for i in rest),
        )
        return Sandbox(self.classes, tuple(self.processes[i] for i in rest), left)

    def _columns(self) -> Sequence[tuple[int, ...]]:
        return list(zip(*self.state.allocation, strict=True)) or [()] * len(self.classes)


def clean_name(what: str, name: str) -> str:
    """A name in the form in which it is stored: without blanks around it.

    Raises ValueError if a page could not show it.
    """
    name = name.strip()
    if not name:
        raise ValueError(f"A {what} has no name. Give it one.")
    if len(name) > MOST_LETTERS:
        raise ValueError(
            f"The name {name[:20]}… has {len(name)} letters. Use at most {MOST_LETTERS}."
        )
    if not name.isprintable():
        raise ValueError(
            f"The name {ascii(name)[:60]} has a sign that cannot be printed. Leave it out."
        )
    return name


def _check_names(what: str, names: Sequence[str], most: int) -> None:
    if len(names) > most:
        raise ValueError(
            f"There are {len(names)} {'processes' if what == 'process' else 'classes'}; {most} "
            "is the most."
        )
    seen: set[str] = set()
    for name in names:
        if clean_name(what, name) != name:
            raise ValueError(f"The {what} name {name!r} has blanks around it. Leave them out.")
        if name in seen:
            raise ValueError(
                f"Two {'processes' if what == 'process' else 'classes'} are named {name}. "
                "Rename one."
            )
        seen.add(name)
