"""Copies a live pool into a state in which changes can be tried. A change of the copy does not
change the pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from allocation.rules.banker import State
from allocation.selectors import bank_view
from allocation.snapshot import ProcessRow
from allocation.whatif.sandbox import MOST_LETTERS, MOST_PROCESSES, Sandbox
from allocation.wording import UnitWords

ROOM_FOR_A_NUMBER = 24


@dataclass(frozen=True)
class PoolCopy:
    name: str
    sandbox: Sandbox
    #: the ids of the pool's processes, in the order of the rows of the sandbox
    ids: tuple[int, ...]
    #: processes on which the safety of no other process depends: those that keep units in a
    #: reservation, and those without units that can be served only after a reservation has ended.
    #: In a pool with more than MOST_PROCESSES processes, all those without units
    left_out: tuple[ProcessRow, ...]
    #: the classes as pages name them; for sizes, with the unit of the numbers in the copy
    class_names: tuple[str, ...]

    @property
    def in_words(self) -> Sandbox:
        """The sandbox, with the names that pages show."""
        return replace(self.sandbox, classes=self.class_names)


def copy_of(pool: int, *, asker: int | None = None) -> PoolCopy:
    """The current state of the pool, including the process `asker`, even if it holds nothing.
    Raises UnknownPool.
    """
    view = bank_view(pool)
    out = {process.id for process in (*view.reserved, *view.held_off)} - {asker}
    out |= {process.id for process in view.reserved}
    rows = [process for process in view.processes if process.id not in out]
    rows = sorted(rows, key=lambda process: process.id != asker and not any(process.allocation))[
        :MOST_PROCESSES
    ]
    rows.sort(key=lambda process: process.id)
    kept = {process.id for process in rows}
    state = State(
        tuple(resource.available for resource in view.resources),
        tuple(process.maximum for process in rows),
        tuple(process.allocation for process in rows),
    )
    classes = tuple(resource.key for resource in view.resources)
    left_out = tuple(process for process in view.processes if process.id not in kept)
    return PoolCopy(
        view.name,
        Sandbox(classes, _distinct_labels(rows), state),
        tuple(process.id for process in rows),
        left_out,
        tuple(_class_name(resource.unit_words) for resource in view.resources),
    )


def _class_name(measure: UnitWords) -> str:
    return f"{measure.name} ({measure.unit})" if measure.is_size else measure.name


def _distinct_labels(rows: Iterable[ProcessRow]) -> tuple[str, ...]:
    """Labels as a page or a file can show them. Equal labels are followed by their numbers."""
    names: dict[str, None] = {}
    for row in rows:
        shown = (
            "".join(sign if sign.isprintable() else " " for sign in row.label)
            .strip()[: MOST_LETTERS - ROOM_FOR_A_NUMBER]
            .strip()
        )
        # a process may have the name of another with a number added: then both get the number, and
        # one has it twice
        while not shown or shown in names:
            shown = f"{shown} ({row.id})".strip()
        names[shown] = None
    return tuple(names)
