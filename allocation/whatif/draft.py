"""A state as typed, that is, as text that may be invalid, and the changes of its shape that keep
the text. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TypeVar

from allocation.rules import banker
from allocation.rules.banker import State, Vector
from allocation.whatif.sandbox import MOST_CLASSES, MOST_PROCESSES, MOST_UNITS, Sandbox, clean_name

T = TypeVar("T")


@dataclass(frozen=True)
class ClassText:
    name: str
    #: the number of available units, or the capacity; see `Draft.by_total`
    units: str


@dataclass(frozen=True)
class ProcessText:
    name: str
    #: numbers in the order of classes, separated by blanks or commas
    maximum: str
    #: numbers, as for the maximum
    allocation: str


@dataclass(frozen=True)
class Draft:
    classes: tuple[ClassText, ...] = ()
    rows: tuple[ProcessText, ...] = ()
    by_total: bool = False
    #: the name of the requesting process
    process: str = ""
    #: the requested units, as typed
    request: str = ""

    def add_classes(self, count: int) -> Draft:
        """Append classes. No process claims or holds units of them yet."""
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
        """Append processes that hold and claim nothing."""
        count = min(count, MOST_PROCESSES - len(self.rows))
        zeros = " ".join("0" for _ in self.classes)
        names = _free_names("process", [row.name for row in self.rows], count)
        return replace(
            self, rows=(*self.rows, *(ProcessText(name, zeros, zeros) for name in names))
        )

    def without_class(self, place: int) -> Draft:
        """Remove a class, and its number from every row that has one at this place."""
        rows = tuple(
            replace(
                row,
                maximum=_remove_token(row.maximum, place),
                allocation=_remove_token(row.allocation, place),
            )
            for row in self.rows
        )
        return replace(
            self,
            classes=_remove_place(self.classes, place),
            rows=rows,
            request=_remove_token(self.request, place),
        )

    def without_process(self, place: int) -> Draft:
        rows = _remove_place(self.rows, place)
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


def read_draft_fields(lists: Mapping[str, Sequence[str]]) -> Draft:
    def columns_of_lists(*names: str) -> Iterable[tuple[str, ...]]:
        return zip_longest(*(lists.get(name, ()) for name in names), fillvalue="")

    def first_value(name: str) -> str:
        return next(iter(lists.get(name, ())), "")

    return Draft(
        classes=tuple(ClassText(*texts) for texts in columns_of_lists("class_name", "class_units")),
        rows=tuple(
            ProcessText(*texts)
            for texts in columns_of_lists("process_name", "process_maximum", "process_allocation")
        ),
        by_total=first_value("by") == "total",
        process=first_value("process"),
        request=first_value("request"),
    )


def tokens(text: str) -> list[str]:
    return text.replace(",", " ").replace(";", " ").split()


def row_text(vector: Iterable[int]) -> str:
    return " ".join(str(units) for units in vector)


def _remove_token(text: str, place: int) -> str:
    return " ".join(token for j, token in enumerate(tokens(text)) if j != place)


def _remove_place(things: tuple[T, ...], place: int) -> tuple[T, ...]:
    return things[:place] + things[place + 1 :]


def _free_names(stem: str, taken: Sequence[str], count: int) -> list[str]:
    """`process0`, `process1`, … as in the paper, without names that are taken."""
    names: list[str] = []
    number = 0
    while len(names) < count:
        if (name := f"{stem}{number}") not in taken:
            names.append(name)
        number += 1
    return names


@dataclass(frozen=True)
class FieldFault:
    #: the field's id; empty if the mistake is in the whole state
    field: str
    sentence: str


class BadDraft(ValueError):
    """The typed text is no valid state.

    `faults` has the reasons, field by field; `draft` is the draft to show, if it differs from the
    input.
    """

    def __init__(self, faults: Sequence[FieldFault], draft: Draft | None = None) -> None:
        self.faults, self.draft = tuple(faults), draft
        super().__init__("; ".join(fault.sentence for fault in faults))


def read_draft(draft: Draft) -> Sandbox:
    """The typed state. Raises BadDraft."""
    reader = _Reader()
    classes = tuple(
        reader.name(f"class-{j}-name", "class", one.name) for j, one in enumerate(draft.classes)
    )
    units = [
        reader.units(f"class-{j}-units", f"Class {classes[j]}", one.units)
        for j, one in enumerate(draft.classes)
    ]
    names = tuple(
        reader.name(f"process-{i}-name", "process", row.name) for i, row in enumerate(draft.rows)
    )
    maximum = [
        reader.vector(f"process-{i}-maximum", f"Max of {names[i]}", row.maximum, classes)
        for i, row in enumerate(draft.rows)
    ]
    held = [
        reader.vector(
            f"process-{i}-allocation", f"Allocation of {names[i]}", row.allocation, classes
        )
        for i, row in enumerate(draft.rows)
    ]
    reader.twice("class", classes)
    reader.twice("process", names)
    reader.stop_if_faulty()
    for i, (row, most) in enumerate(zip(held, maximum, strict=True)):
        for key, units_held, units_most in zip(classes, row, most, strict=True):
            if units_held > units_most:
                sentence = (
                    f"Allocation of {names[i]}, class {key}: {units_held:,} held, but Max is "
                    f"{units_most:,}. Raise Max or hold less."
                )
                reader.faults.append(FieldFault(f"process-{i}-allocation", sentence))
    available = _available(reader, draft.by_total, classes, units, held)
    reader.stop_if_faulty()
    try:
        return Sandbox(classes, names, State(available, tuple(maximum), tuple(held)))
    except ValueError as error:
        raise BadDraft([FieldFault("", str(error))]) from error


def read_request(draft: Draft, sandbox: Sandbox) -> tuple[int, Vector]:
    """The requesting process, as a row of the state, and the amounts. Raises BadDraft."""
    reader = _Reader()
    if draft.process not in sandbox.processes:
        reader.faults.append(FieldFault("process", "Who requests? Choose a process."))
    amounts = reader.vector("request", "Request", draft.request, sandbox.classes)
    if not reader.faults and not any(amounts):
        reader.faults.append(
            FieldFault(
                "request",
                "Request: enter how many units of each class, at least one unit of something.",
            )
        )
    reader.stop_if_faulty()
    return sandbox.processes.index(draft.process), amounts


def read_units(text: str) -> int:
    """A number of units. Raises ValueError with the mistake and the remedy."""
    text = text.strip()
    if not text:
        raise ValueError("nothing is entered. Enter a whole number from 0 up.")
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"“{text[:20]}” is not a whole number from 0 up. Use digits only.")
    if len(text) > 10 or int(text) > MOST_UNITS:
        raise ValueError(f"{text[:20]} is more than {MOST_UNITS:,}, the most. Use a larger unit.")
    return int(text)


def _available(
    reader: _Reader,
    by_total: bool,
    classes: Sequence[str],
    units: Sequence[int],
    held: Sequence[Vector],
) -> Vector:
    if not by_total:
        return tuple(units)
    used = [sum(row[j] for row in held) for j in range(len(classes))]
    for j, (key, there, taken) in enumerate(zip(classes, units, used, strict=True)):
        if taken > there:
            sentence = (
                f"Class {key}: {taken:,} are held, but the total is {there:,}. Raise the total "
                "or hold less."
            )
            reader.faults.append(FieldFault(f"class-{j}-units", sentence))
    return banker.minus(tuple(units), tuple(used)) if not reader.faults else ()


class _Reader:
    """Reads field after field, and collects the mistakes."""

    def __init__(self) -> None:
        self.faults: list[FieldFault] = []

    def stop_if_faulty(self) -> None:
        if self.faults:
            raise BadDraft(self.faults)

    def name(self, field: str, what: str, text: str) -> str:
        try:
            return clean_name(what, text)
        except ValueError as error:
            self.faults.append(FieldFault(field, str(error)))
            return f"number {int(field.split('-')[1]) + 1}"

    def twice(self, what: str, names: Sequence[str]) -> None:
        seen: set[str] = set()
        for i, name in enumerate(names):
            if name in seen:
                self.faults.append(
                    FieldFault(
                        f"{what}-{i}-name", f"Another {what} is named {name}, too. Rename one."
                    )
                )
            seen.add(name)

    def units(self, field: str, where: str, text: str) -> int:
        try:
            return read_units(text)
        except ValueError as error:
            self.faults.append(FieldFault(field, f"{where}: {error}"))
            return 0

    def vector(self, field: str, where: str, text: str, classes: Sequence[str]) -> Vector:
        numbers = tokens(text)
        if len(numbers) != len(classes):
            count = f"{len(numbers)} number{'' if len(numbers) == 1 else 's'}"
            order = ", ".join(classes[:10]) + (" …" if len(classes) > 10 else "")
            there = f"{len(classes)} class{'' if len(classes) == 1 else 'es'}"
            self.faults.append(
                FieldFault(field, f"{where}: {count} for {there}. Enter one for each: {order}.")
            )
            return (0,) * len(classes)
        return tuple(
            self.units(field, f"{where}, class {key}", number)
            for key, number in zip(classes, numbers, strict=True)
        )
