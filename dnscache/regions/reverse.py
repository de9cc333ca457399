"""The negative region: names that failed, or took long (SEEDS D9, D10).

It warns operators, and keeps what was costly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dnscache.protocol.answers import DnsStatus
from dnscache.regions.entry import CachedAnswer

#: why a name lies here, for operators
REASONS = {
    DnsStatus.OK: "slow",
    DnsStatus.NXDOMAIN: "no such name",
    DnsStatus.NODATA: "no address",
    DnsStatus.SERVFAIL: "the name server failed",
    DnsStatus.TIMEOUT: "no answer in time",
}


def reason_of(status: DnsStatus, fails: int) -> str:
    """Say why a name is hard."""
    if status is DnsStatus.OK and fails:
        return "was good; asking again failed"
    return REASONS[status]


@dataclass(slots=True)
class Conflict:
    """A row of the conflict area: the answer with its weight, as it was when the area was last
    sorted.
    """

    entry: CachedAnswer
    weight: float

    @property
    def reason(self) -> str:
        """Why the name is hard."""
        return reason_of(self.entry.status, self.entry.fails)


class ReverseRegion:
    """Table 3 and the conflict area.

    `table3` maps a name to its place in `area`, where one step finds answer and weight (the
    patent's mapping 3). Rows are sorted by weight when `sort` is called, not at every hit; newer
    ones wait at the end, and what left is None until then.
    """

    def __init__(self) -> None:
        self.table3: dict[str, int] = {}
        self.area: list[Conflict | None] = []

    def add(self, entry: CachedAnswer, *, now: float) -> None:
        """Put the answer into the area, in place of an older one."""
        conflict = Conflict(entry, entry.weight(now))
        place = self.table3.get(entry.name)
        if place is None:
            self.table3[entry.name] = len(self.area)
            self.area.append(conflict)
        else:
            self.area[place] = conflict

    def find(self, name: str) -> Conflict | None:
        """Return a name's row: table 3 says where it is."""
        place = self.table3.get(name)
        return None if place is None else self.area[place]

    def remove(self, name: str) -> None:
        self.area[self.table3.pop(name)] = None

    def sort(self, now: float) -> None:
        """Weigh every row anew, put the heaviest first and close the gaps."""
        rows = list(self.rows())
        for conflict in rows:
            conflict.weight = conflict.entry.weight(now)
        rows.sort(key=lambda conflict: (-conflict.weight, conflict.entry.name))
        self.area = list(rows)
        self.table3 = {conflict.entry.name: place for place, conflict in enumerate(rows)}

    def rows(self) -> Iterator[Conflict]:
        """Walk the area from the front."""
        return (conflict for conflict in self.area if conflict is not None)

    def idle_and_light(self, now: float, *, share: float, idle_seconds: float) -> list[str]:
        """Name the rows to delete (SEEDS D10): of the lightest `share` those that nobody wanted for
        long. Sorts first.

        Long means `idle_seconds`, or the answer's whole life if that is longer.
        """
        self.sort(now)
        lightest = self.area[len(self.area) - int(share * len(self.area)) :]
        entries = [conflict.entry for conflict in lightest if conflict is not None]
        return [
            entry.name
            for entry in entries
            if now - entry.last_access > max(idle_seconds, entry.life_seconds)
        ]
