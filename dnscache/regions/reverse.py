"""The negative region: names that failed, or took long (SEEDS D9, D10).

The region warns operators, and keeps answers that took long to get.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dnscache.protocol.answers import DnsStatus
from dnscache.protocol.names import levels_of
from dnscache.regions.entry import CachedAnswer

#: the reason why a name is in this region, for operators
REASONS = {
    DnsStatus.OK: "slow",
    DnsStatus.NXDOMAIN: "no such name",
    DnsStatus.NODATA: "no address",
    DnsStatus.SERVFAIL: "the name server failed",
    DnsStatus.TIMEOUT: "no answer in time",
}


def failure_reason(status: DnsStatus, fails: int) -> str:
    if status is DnsStatus.OK and fails:
        return "was good; asking again failed"
    return REASONS[status]


@dataclass(slots=True)
class Conflict:
    """A row of the conflict area: the answer with its weight at the last sort of the area."""

    entry: CachedAnswer
    weight: float


class ReverseRegion:
    """Table 3 and the conflict area.

    `table3` maps a name to its place in `area`, where answer and weight are found in one step (the
    patent's mapping 3). Rows are sorted by weight when `sort` is called, not at every hit; newer
    rows are at the end, and a removed row's place has None until then.

    Any thread may call `find` while another writes: a place is never used twice, and `sort` makes a
    new table and a new area, which replace the old ones in one step.
    """

    def __init__(self) -> None:
        self._both: tuple[dict[str, int], list[Conflict | None]] = {}, []

    @property
    def table3(self) -> dict[str, int]:
        return self._both[0]

    @property
    def area(self) -> list[Conflict | None]:
        return self._both[1]

    def add(self, entry: CachedAnswer, *, now: float) -> None:
        """Put the answer into the area, in place of an older one."""
        table3, area = self._both
        conflict = Conflict(entry, entry.weight(now))
        place = table3.get(entry.name)
        if place is None:
            area.append(conflict)
            table3[entry.name] = len(area) - 1
        else:
            area[place] = conflict

    def find(self, name: str) -> Conflict | None:
        """Return a name's row, at the place that table 3 has for it."""
        table3, area = self._both
        place = table3.get(name)
        return None if place is None else area[place]

    def remove(self, name: str) -> None:
        table3, area = self._both
        area[table3.pop(name)] = None

    def sort(self, now: float) -> None:
        """Weigh every row again, sort the rows by weight, the heaviest first, and close the
        gaps.
        """
        rows = [Conflict(row.entry, row.entry.weight(now)) for row in self.rows()]
        rows.sort(key=lambda row: (-row.weight, row.entry.name))
        self._both = {row.entry.name: place for place, row in enumerate(rows)}, list(rows)

    def rows(self) -> Iterator[Conflict]:
        """Yield the rows of the area, from the front."""
        return (conflict for conflict in self.area if conflict is not None)

    def names_of(self, first: str) -> list[str]:
        """The names under a registered one. The whole area is searched, since table 1 has only the
        names of the forward region.
        """
        names = [row.entry.name for row in self.rows() if row.entry.name.endswith(first)]
        return [name for name in names if levels_of(name).first == first]

    def idle_light_names(self, now: float, *, share: float, idle_seconds: float) -> list[str]:
        """Sort the rows, and return the names of those to delete (SEEDS D10): the `share` of least
        weight, as far as they were not accessed for long.

        Long means `idle_seconds`, or the answer's whole TTL if that is longer.
        """
        self.sort(now)
        rows = list(self.rows())
        entries = [row.entry for row in rows[len(rows) - int(share * len(rows)) :]]
        return [
            entry.name
            for entry in entries
            if now - entry.last_access > max(idle_seconds, entry.life_seconds)
        ]
