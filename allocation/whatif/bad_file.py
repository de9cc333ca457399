"""What is said of a file that is no state."""

from __future__ import annotations

from allocation.rules.banker import State
from allocation.whatif.sandbox import Sandbox


class BadFile(ValueError):
    """The message says where and why."""

    def __init__(self, sentence: str, line: int | None = None, column: int | None = None) -> None:
        self.line, self.column = line, column
        super().__init__(sentence if line is None else f"Line {line}, column {column}: {sentence}")


def built(
    classes: list[str],
    names: list[str],
    available: list[int],
    maximum: list[list[int]],
    allocation: list[list[int]],
) -> Sandbox:
    """The state of these parts, each of which is well formed.

    Raises BadFile if they do not go together.
    """
    try:
        return Sandbox(
            tuple(classes), tuple(names), State.from_arrays(available, maximum, allocation)
        )
    except ValueError as error:
        sentence = str(error).removesuffix(".")
        raise BadFile(f"{sentence[:1].upper()}{sentence[1:]}.") from error
