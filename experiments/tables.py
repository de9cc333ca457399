"""Tables 1, 2 and 3 of an experiment as the command line prints them, and the numbers of the
paper's table 3 (SEEDS P5), with its errata.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC

from rich.table import Table

from experiments.report import ExperimentView, PolicyResult


@dataclass(frozen=True)
class PaperRow:
    policy: str
    waited: str
    waited_seconds: int
    locked: int
    percent: int
    #: the number in the paper's table if that is a misprint
    printed: str = ""


PAPER_ROWS = (
    PaperRow("plain requests", "2:09:07", 7747, 30, 30),
    PaperRow("Banker's algorithm", "1:38:28", 5908, 2, 2, printed="20"),
)
#: the Banker's total waiting time as a fraction of that of plain requests
PAPER_RATIO = PAPER_ROWS[1].waited_seconds / PAPER_ROWS[0].waited_seconds
#: the claims of an experiment, and their limits
WAITS_DEPEND = (
    "Unsafe grants and deadlocks depend on the policy. Waits also depend on how busy the machine "
    "is, so one experiment does not show under which policy requests wait less."
)
ERRATA = (
    "Table 3 prints 20 deadlocks for the Banker's algorithm; the text and the rate of 2 % say 2.",
    "Table 1 logs Request5 as Completed with a wait of 0:02:00, the time limit itself. Here such a "
    "request was granted in the moment in which its limit passed, and is Completed too.",
)


def request_table(number: int, column: PolicyResult, bound_seconds: float) -> Table:
    """Table 1 or 2: every request under one policy."""
    title = f"Table {number}. {column.policy.label}"
    table = Table("request", "started", title=title, title_justify="left", box=None, pad_edge=False)
    for heading in ("wait s", "limit s", "attempts"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for entry in column.entries:
        remark = "deadlocked" if entry.deadlocked else entry.detail
        started = f"{entry.started_at.astimezone(UTC):%H:%M:%S}"
        table.add_row(
            entry.label,
            started,
            f"{entry.waited_seconds:.2f}",
            f"{bound_seconds:g}",
            str(1 + entry.retries),
            remark,
        )
    return table


def policy_table(view: ExperimentView) -> Table:
    """Table 3: a comparison of the policies."""
    table = Table(
        "policy",
        title="Table 3. Policies compared",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    headings = (
        "wait s",
        "with retries s",
        "decisions s",
        "over the limit",
        "%",
        "deadlocked",
        "unsafe grants",
        "over Max",
        "crashes",
        "duration s",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for one in view.columns:
        numbers = (
            one.locked,
            f"{one.locked_percent:.0f}",
            one.deadlocked,
            "–" if one.unsafe_grants is None else one.unsafe_grants,
            one.breaches,
            one.crashes,
        )
        seconds = (one.waited_seconds, one.waited_with_retries_seconds, one.deciding_seconds)
        table.add_row(
            one.policy.label,
            *(f"{s:.1f}" for s in seconds),
            *map(str, numbers),
            f"{one.seconds or 0:.1f}",
        )
    return table
