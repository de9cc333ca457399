"""Writes amounts, times and lists in words, and reads whole numbers that people write. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

NAMES_AT_MOST = 5
#: words in keys that are written in capitals
ACRONYMS = {"dns": "DNS"}
#: a number with commas only before groups of three digits
GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")
#: units of sizes, each 1,024 of the previous one: as pools count, and as people write
COUNTED, SAID = ("KiB", "MiB", "GiB", "TiB"), ("KB", "MB", "GB", "TB")


@dataclass(frozen=True)
class UnitWords:
    key: str
    unit: str

    @property
    def name(self) -> str:
        """The key as words: `DNS slots`."""
        return _key_as_words(self.key)

    @property
    def symbol(self) -> str:
        """`KiB/s`, `MiB`; empty for a mere count."""
        return self.unit if self.unit[:1].isupper() else ""

    @property
    def heading(self) -> str:
        """The unit for the heading above numbers made by `number`; empty if each number has its own
        unit, or if the name says it.
        """
        return "" if self.is_size or self.unit == f"{self.name}s" else self.unit

    @property
    def is_size(self) -> bool:
        return self._size is not None

    @property
    def _size(self) -> int | None:
        """The place of the unit in COUNTED; None if it is no unit of size."""
        size = self.unit.removesuffix("/s")
        return COUNTED.index(size) if size in COUNTED else None

    def unit_of(self, like: int) -> str:
        """The unit in which an amount is shown: `MB/s`. A mere count has its own."""
        return self.number(like).partition(" ")[2] if self.is_size else self.unit

    def amount_in_unit_of(self, units: int, *, like: int) -> str:
        """The amount in the unit of another amount, without that unit: `0.1` for 102 units like 60
        MB/s. Exact unless it is a fraction with many decimals.
        """
        if self._size is None:
            return str(units)
        amount = units / 1_024 ** (SAID.index(self._unit_without_time(like)) - self._size)
        return f"{amount:.2f}".rstrip("0").rstrip(".")

    def read(self, text: str, *, like: int) -> int | None:
        """The units of an amount as users write it: `60`, `1,024`, `1.5 GB`; without a unit, in the
        unit of another amount. None for text that is no amount, or that is ambiguous, such as
        `1,5`.
        """
        digits = len(text) - len(text.lstrip("0123456789.,"))
        number, unit = text[:digits], text[digits:].strip().upper()
        if "," in number and not GROUPED.fullmatch(number):
            return None
        number = number.replace(",", "")
        if self._size is None:
            return None if unit else whole_number(number, most_digits=10)
        unit = unit.removesuffix("/S").replace("I", "") or self._unit_without_time(like)
        if unit not in SAID or not number.replace(".", "", 1).isdigit() or len(number) > 20:
            return None
        return round(float(number) * 1_024.0 ** (SAID.index(unit) - self._size))

    def _unit_without_time(self, units: int) -> str:
        """The unit of an amount without the time: `MB` of `MB/s`."""
        return self.unit_of(units).removesuffix("/s")

    def number(self, units: int) -> str:
        """`60 MB/s`, `2.9 GB`, `1,024`: a size in the largest unit that it reaches, with at most
        one decimal. A mere count has no unit.
        """
        size = self._size
        if size is None:
            return f"{units:,} {self.symbol}".rstrip()
        amount = float(units)
        while round(amount, 1) >= 1_024 and size + 1 < len(SAID):
            amount, size = amount / 1_024, size + 1
        rounded = f"{amount:,.1f}".removesuffix(".0") if amount < 100 else f"{amount:,.0f}"
        return f"{rounded} {SAID[size]}{'/s' if self.unit.endswith('/s') else ''}"

    def part(self, units: int, whole: int) -> str:
        """`60 of 100 MB/s`, `1 of 2`: a part and the whole, with the unit once if it is the
        same.
        """
        (part, unit), (all_units, of) = (
            self.number(each).partition(" ")[::2] for each in (units, whole)
        )
        is_one = unit == of or not units
        return f"{part if is_one else f'{part} {unit}'} of {f'{all_units} {of}'.rstrip()}"

    def amount(self, units: int) -> str:
        """`60 MB/s of bandwidth`, `1 worker`, `8 fetch slots`: a unit with a symbol is followed by
        the name of its class, and others are named by the class.
        """
        if self.symbol:
            return f"{self.number(units)} of {self.name}"
        if units == 1:
            return f"1 {self.name.removesuffix('s') if len(self.name) > 1 else self.name}"
        return f"{units:,} {self.unit if self.unit == self.name + 's' else self.name}"


@lru_cache(1_000)
def _key_as_words(key: str) -> str:
    return " ".join(ACRONYMS.get(word, word) for word in key.split("_"))


def clock_text(moment: datetime) -> str:
    """`12:03 UTC`."""
    return f"{moment:%H:%M} UTC"


def joined_in_words(names: Sequence[str], *, last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join(part for part in (", ".join(names[:-1]), "".join(names[-1:])) if part)


def beginning_of_list(names: Sequence[str], most: int, *, between: str = ", ") -> str:
    """`a, b, and 3 more`: the first names of a long list, and the number of further ones."""
    more = len(names) - most
    return between.join([*names[:most], f"and {more:,} more"] if more > 0 else names)


def first_few_in_words(names: Sequence[str], *, last: str = "and") -> str:
    """The first few names, as in `listed`, and the number of further ones."""
    shown = list(names[:NAMES_AT_MOST])
    if len(names) > NAMES_AT_MOST:
        shown.append(f"{len(names) - NAMES_AT_MOST} more")
    return joined_in_words(shown, last=last)


def whole_number(text: str | None, *, most_digits: int = 18) -> int | None:
    """The number, if it is 0 or more; None for any other text. 18 digits fit into PostgreSQL's
    bigint.
    """
    is_number = text and text.isascii() and text.isdigit() and len(text) <= most_digits
    return int(text) if text and is_number else None


def excess_sentence(keys: Sequence[str], request: Sequence[int], need: Sequence[int]) -> str:
    """The classes in which the request exceeds Need: `memory: 5 asked, at most 3`."""
    return "; ".join(
        f"{key.replace('_', ' ')}: {r:,} asked, at most {n:,}"
        for key, r, n in zip(keys, request, need, strict=True)
        if r > n
    )
