"""Say amounts, times and lists as people do, and read the whole numbers that people write. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

NAMES_AT_MOST = 5
#: words of keys that are written in capitals
ACRONYMS = {"dns": "DNS"}


@dataclass(frozen=True)
class UnitWords:
    key: str
    unit: str

    @property
    def name(self) -> str:
        """The key as words: `DNS slots`."""
        return _words(self.key)

    @property
    def symbol(self) -> str:
        """`KiB/s`, `MiB`; nothing for what is only counted."""
        return self.unit if self.unit[:1].isupper() else ""

    def amount(self, units: int) -> str:
        """`61,440 KiB/s of bandwidth`, `1 worker`, `8 fetch slots`: a unit with a symbol is named,
        others go by their class.
        """
        if self.symbol:
            return f"{units:,} {self.unit} of {self.name}"
        if units == 1:
            return f"1 {self.name.removesuffix('s') if len(self.name) > 1 else self.name}"
        return f"{units:,} {self.unit if self.unit == self.name + 's' else self.name}"


@lru_cache(1_000)
def _words(key: str) -> str:
    return " ".join(ACRONYMS.get(word, word) for word in key.split("_"))


def clock(moment: datetime) -> str:
    """`12:03 UTC`."""
    return f"{moment:%H:%M} UTC"


def listed(names: Sequence[str], *, last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join(part for part in (", ".join(names[:-1]), "".join(names[-1:])) if part)


def beginning(names: Sequence[str], most: int, *, between: str = ", ") -> str:
    """`a, b, and 3 more`: of a long list the first so many, and how many more there are."""
    more = len(names) - most
    return between.join([*names[:most], f"and {more:,} more"] if more > 0 else names)


def some(names: Sequence[str], *, last: str = "and") -> str:
    """The first few names as `listed` has them, and how many more there are."""
    shown = list(names[:NAMES_AT_MOST])
    if len(names) > NAMES_AT_MOST:
        shown.append(f"{len(names) - NAMES_AT_MOST} more")
    return listed(shown, last=last)


def whole_number(text: str | None, *, most_digits: int = 18) -> int | None:
    """The number, from 0 up; None for anything else. 18 digits fit PostgreSQL's bigint."""
    is_number = text and text.isascii() and text.isdigit() and len(text) <= most_digits
    return int(text) if text and is_number else None
