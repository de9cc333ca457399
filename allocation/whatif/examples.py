"""Example states from the paper and the textbooks. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from allocation.rules.banker import State, Vector
from allocation.whatif.sandbox import Sandbox


@dataclass(frozen=True)
class WhatIfExample:
    key: str
    title: str
    sentence: str
    sandbox: Sandbox
    #: the name of the requesting process
    process: str
    request: Vector


def _digit_rows(text: str) -> tuple[Vector, ...]:
    return tuple(tuple(int(digit) for digit in row) for row in text.split())


def _textbook_sandbox(
    classes: str,
    stem: str,
    available: Vector,
    maximum: tuple[Vector, ...],
    allocation: tuple[Vector, ...],
) -> Sandbox:
    names = tuple(f"{stem}{i}" for i in range(len(maximum))) if stem == "P" else tuple(stem.split())
    return Sandbox(tuple(classes.split()), names, State(available, maximum, allocation))


EXAMPLES = {
    one.key: one
    for one in (
        WhatIfExample(
            "p2",
            "The paper's screen",
            "Ten classes of five units; the only process asks for one of each.",
            _textbook_sandbox(
                " ".join(f"R{j}" for j in range(10)),
                "process0",
                (5,) * 10,
                ((1, 1, 2, *(1,) * 7),),
                ((0,) * 10,),
            ),
            "process0",
            (1,) * 10,
        ),
        WhatIfExample(
            "p3",
            "The paper's single class",
            "20 units, 2 of them free. The paper calls P1, P2, P3, P4 a safe sequence. It is "
            "none: P1 still needs 7. Others are safe.",
            _textbook_sandbox(
                "units", "P1 P2 P3 P4", (2,), ((15,), (5,), (8,), (10,)), ((8,), (4,), (4,), (2,))
            ),
            "P2",
            (1,),
        ),
        WhatIfExample(
            "silberschatz",
            "Silberschatz",
            "Five processes, three classes, 16 safe sequences; P1 asks for 1 0 2.",
            _textbook_sandbox(
                "A B C",
                "P",
                (3, 3, 2),
                _digit_rows("753 322 902 222 433"),
                _digit_rows("010 200 302 211 002"),
            ),
            "P1",
            (1, 0, 2),
        ),
        WhatIfExample(
            "tanenbaum",
            "Tanenbaum",
            "Four customers of one banker with 10 to lend. If B borrows one more, no customer is "
            "sure to finish.",
            _textbook_sandbox(
                "credit", "A B C D", (2,), ((6,), (5,), (4,), (7,)), ((1,), (1,), (2,), (4,))
            ),
            "B",
            (1,),
        ),
    )
}
