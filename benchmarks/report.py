"""The options of benchmarks, and the output of figures."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import Any

SHARES = (0.5, 0.95, 0.99)


def options(about: str | None, *words: str, **usual: Any) -> argparse.Namespace:
    """The parsed command line: words, and an option for each default value."""
    reader = argparse.ArgumentParser(description=about)
    for name in words:
        reader.add_argument(name, nargs="*")
    for name, value in usual.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            reader.add_argument(option, action="store_true")
        elif isinstance(value, list):
            reader.add_argument(option, nargs="+", type=type(value[0]), default=value)
        else:
            reader.add_argument(option, type=type(value), default=value)
    return reader.parse_args()


def in_words(seconds: Sequence[float]) -> str:
    """The number of values, and the times within which half, nearly all and all of them lie."""
    if not seconds:
        return "none"
    ordered = [1000 * each for each in sorted(seconds)]
    parts = (ordered[math.ceil(share * len(ordered)) - 1] for share in SHARES)
    told = ", ".join(
        f"p{100 * share:.0f} {part:.1f} ms" for share, part in zip(SHARES, parts, strict=True)
    )
    return f"{len(ordered)}, {told}, at most {ordered[-1]:.1f} ms"


def figure_text(value: object) -> str:
    """A number for a table, with three digits at least."""
    if isinstance(value, float) and value and math.isfinite(value):
        return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


class Table:
    """Prints a head of names, and each row once it is known. Columns with words come last."""

    def __init__(self, *names: str) -> None:
        self._widths = [max(8, len(name)) for name in names[:-1]]
        self.row(*names)

    def row(self, *values: object) -> None:
        *figures, words = map(figure_text, values)
        cells = (text.rjust(width) for text, width in zip(figures, self._widths, strict=True))
        print(*cells, f" {words}", flush=True)

    def rows(self, found: Mapping[str, float], *, scale: float = 1.0, least: float = 0.0) -> None:
        """Print a figure for each name, the greatest first, leaving out those below the least."""
        for name, value in sorted(found.items(), key=lambda item: -item[1]):
            if value >= least:
                self.row(scale * value, name)
