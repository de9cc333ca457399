"""Shares of a pool: a reserve and a limit in each class for a group of processes. Pure.

- *Limit.* The sum of the claims (Max) of a share's processes that hold something is at most the
  limit. The limit is checked when a process without units starts. So a holder is within the limit
  with all it may still ask for, and no limit ever refuses it anything.
- *Reserve.* The part of its reserve that a share does not hold is kept for its own processes: a
  start of any other must leave it free, unless that start could then never be served.

Like turns, both bind only processes without units, so the proof of the Banker's algorithm still
holds: a process with units waits only for units that are not free or not safe to grant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from allocation.rules.banker import Vector, fits, minus, plus

#: means no limit; no pool has so many units
NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class ShareTerms:
    name: str
    reserved: Vector
    limits: Vector


class Member(NamedTuple):
    share: int | None
    label: str
    maximum: Vector
    allocation: Vector


@dataclass(frozen=True)
class ShareUse:
    terms: Mapping[int, ShareTerms]
    members: tuple[Member, ...]

    def claimed_units(self, share: int) -> Vector:
        """The sum of the claims of those processes of a share that hold something."""
        return self._sum(share, (one.maximum for one in self.members if one.share == share))

    def held_units(self, share: int) -> Vector:
        return self._sum(share, (one.allocation for one in self.members if one.share == share))

    def holders(self, share: int) -> list[str]:
        return [one.label for one in self.members if one.share == share]

    def claim_left(self, share: int | None) -> Vector | None:
        """The largest claim with which one more process may start. None if it has no share.

        Negative if a limit was lowered below the claims.
        """
        if share is None:
            return None
        entries = zip(self.terms[share].limits, self.claimed_units(share), strict=True)
        return tuple(NO_LIMIT if limit == NO_LIMIT else limit - used for limit, used in entries)

    def unused_reserve(self, share: int) -> Vector:
        """The part of the share's reserve that its processes do not hold."""
        entries = zip(self.terms[share].reserved, self.held_units(share), strict=True)
        return tuple(max(0, reserved - held) for reserved, held in entries)

    def units_set_aside(self, own: int | None) -> Vector:
        """The parts of the other shares' reserves that these shares do not hold. Empty without
        shares.
        """
        others = [self.unused_reserve(share) for share in self.terms if share != own]
        return reduce(plus, others) if others else ()

    def reserving_shares(self, own: int | None) -> list[str]:
        """The names of the other shares that do not hold all units of their reserve."""
        return [
            terms.name
            for share, terms in self.terms.items()
            if share != own and any(self.unused_reserve(share))
        ]

    def is_full_for(self, share: int | None, claim: Vector) -> bool:
        """Whether the limit of a share prevents a start with that claim."""
        room = self.claim_left(share)
        return room is not None and not fits(claim, room)

    def _sum(self, share: int, vectors: Iterable[Vector]) -> Vector:
        return reduce(plus, vectors, (0,) * len(self.terms[share].limits))


def exceeded_classes(claim: Vector, limits: Vector) -> list[int]:
    """The classes of which a claim exceeds a limit."""
    return [j for j, units in enumerate(minus(limits, claim)) if units < 0]
