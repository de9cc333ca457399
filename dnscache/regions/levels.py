"""Names by level (SEEDS D4): 1 is what somebody registered (`baidu.com`), 2 one label below it, 3
everything deeper.

The patent counts dots, which makes `com.cn` an owner of names; the public suffix list knows better.
Only its ICANN part is used: `a.github.io` and `b.github.io` are one zone of DNS, whoever writes
their pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from publicsuffixlist import PublicSuffixList


@dataclass(frozen=True, slots=True)
class Levels:
    """The names on the way to `name`; `second` is empty for a registered name itself, `third`
    unless it lies deeper.
    """

    first: str
    second: str = ""
    third: str = ""

    @property
    def level(self) -> int:
        return 3 if self.third else 2 if self.second else 1


def levels_of(name: str) -> Levels:
    """Split a canonical name.

    A public suffix or single label, which nobody registered, stands for itself.
    """
    return levels_below(_suffixes().privatesuffix(name) or name, name)


def levels_below(first: str, name: str) -> Levels:
    """Split a name whose registered part is known."""
    if first == name:
        return Levels(name)
    label = name[: -len(first) - 1].rpartition(".")[2]
    second = f"{label}.{first}"
    return Levels(first, second, "" if second == name else name)


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=True)
