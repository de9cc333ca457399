"""What the paper's table 3 prints (SEEDS P5), with its errata, to stand beside ours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperRow:
    """A row of table 3. `printed` is what the table says where that is a misprint."""

    policy: str
    waited: str
    waited_seconds: int
    locked: int
    percent: int
    printed: str = ""


PAPER_ROWS = (
    PaperRow("plain requests", "2:09:07", 7747, 30, 30),
    PaperRow("Banker's algorithm", "1:38:28", 5908, 2, 2, printed="20"),
)
#: the Banker's total waiting as a part of plain requests'
PAPER_RATIO = PAPER_ROWS[1].waited_seconds / PAPER_ROWS[0].waited_seconds
ERRATA = (
    "Table 3 prints 20 deadlocks for the Banker's algorithm; the text and the rate of 2 % say 2.",
    "Table 1 logs Request5 as Completed with a wait of 0:02:00, which is the bound itself. Here "
    "such a request was granted in the "
    "moment in which its bound passed, and is Completed too.",
)
