"""A state as typed: text, right or wrong, and every change to its shape that keeps the text.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TypeVar

from allocation.rules.banker import Vector
from allocation.whatif.sandbox import MOST_CLASSES, MOST_PROCESSES, Sandbox

T = TypeVar("T")


@dataclass(frozen=True)
class ClassText:
    name: str
    #: how many are available, or how many there are; see `Draft.by_total`
    units: str


@dataclass(frozen=True)
class ProcessText:
    """A process as it was typed."""

    name: str
    #: numbers in class order, with blanks or commas between them
    maximum: str
    #: as the maximum
    allocation: str


@dataclass(frozen=True)
class Draft:
    """A state and a request as they were typed."""

    classes: tuple[ClassText, ...] = ()
    rows: tuple[ProcessText, ...] = ()
    by_total: bool = False
    #: the name of the process that requests
    process: str = ""
    #: the units, as typed
    request: str = ""

    def add_classes(self, count: int) -> Draft:
        """Append classes; no process claims or holds any of them yet."""
        count = min(count, MOST_CLASSES - len(self.classes))
        names = _free_names("R", [one.name for one in self.classes], count)
        zeros = " 0" * max(count, 0)
        rows = tuple(
            replace(
                row,
                maximum=(row.maximum + zeros).strip(),
                allocation=(row.allocation + zeros).strip(),
            )
            for row in self.rows
        )
        request = (self.request + zeros).strip() if self.request.strip() else ""
        return replace(
            self,
            classes=(*self.classes, *(ClassText(name, "0") for name in names)),
            rows=rows,
            request=request,
        )

    def add_processes(self, count: int) -> Draft:
        """Put processes below the others, with empty hands and no claim."""
        count = min(count, MOST_PROCESSES - len(self.rows))
        zeros = " ".join("0" for _ in self.classes)
        names = _free_names("process", [row.name for row in self.rows], count)
        return replace(
            self, rows=(*self.rows, *(ProcessText(name, zeros, zeros) for name in names))
        )

    def without_class(self, place: int) -> Draft:
        """Take a class away, and its number out of every row that has one there."""
        rows = tuple(
            replace(row, maximum=_drop(row.maximum, place), allocation=_drop(row.allocation, place))
            for row in self.rows
        )
        return replace(
            self,
            classes=_without(self.classes, place),
            rows=rows,
            request=_drop(self.request, place),
        )

    def without_process(self, place: int) -> Draft:
        """Take a process away, with what it holds."""
        rows = _without(self.rows, place)
        stays = self.process in {row.name for row in rows}
        return replace(
            self,
            rows=rows,
            process=self.process if stays else "",
            request=self.request if stays else "",
        )


def draft_of(
    sandbox: Sandbox, *, by_total: bool = False, process: str = "", request: Vector | None = None
) -> Draft:
    """The text that reads as this state."""
    state = sandbox.state
    units = sandbox.total if by_total else state.available
    rows = zip(sandbox.processes, state.maximum, state.allocation, strict=True)
    return Draft(
        classes=tuple(
            ClassText(name, str(free)) for name, free in zip(sandbox.classes, units, strict=True)
        ),
        rows=tuple(ProcessText(name, row_text(most), row_text(held)) for name, most, held in rows),
        by_total=by_total,
        process=process,
        request="" if request is None else row_text(request),
    )


def draft_from(lists: Mapping[str, Sequence[str]]) -> Draft:
    """What a form's fields say, each a list of texts."""

    def columns(*names: str) -> Iterable[tuple[str, ...]]:
        return zip_longest(*(lists.get(name, ()) for name in names), fillvalue="")

    def one(name: str) -> str:
        return next(iter(lists.get(name, ())), "")

    return Draft(
        classes=tuple(ClassText(*texts) for texts in columns("class_name", "class_units")),
        rows=tuple(
            ProcessText(*texts)
            for texts in columns("process_name", "process_maximum", "process_allocation")
        ),
        by_total=one("by") == "total",
        process=one("process"),
        request=one("request"),
    )


def tokens(text: str) -> list[str]:
    """The numbers of a row, as typed."""
    return text.replace(",", " ").replace(";", " ").split()


def row_text(vector: Iterable[int]) -> str:
    return " ".join(str(units) for units in vector)


def _drop(text: str, place: int) -> str:
    return " ".join(token for j, token in enumerate(tokens(text)) if j != place)


def _without(things: tuple[T, ...], place: int) -> tuple[T, ...]:
    return things[:place] + things[place + 1 :]


def _free_names(stem: str, taken: Sequence[str], count: int) -> list[str]:
    """`process0`, `process1`, … as the paper counts, without those that are taken."""
    names: list[str] = []
    number = 0
    while len(names) < count:
        if (name := f"{stem}{number}") not in taken:
            names.append(name)
        number += 1
    return names
