"""The treatment of pages that may have killed their worker, by the number of shifts that were lost
while the pages were in hand.

A shift can be lost for many reasons: an operator's kill, a power cut, a machine out of memory. So
its pages in process are only suspects. A shift may have a few suspects beside other pages, one of
each host. If that shift is lost, too, each of them is tried alone. Then an outside cause is to
blame only if it hits exactly this fetch. The suspect fails when its own fetch is lost again and
again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

#: The most suspects of one loss that a shift has in hand. A machine that is cut off leaves
#: hundreds, which hold up their hosts until they are fetched; if the shift is lost again, each of
#: these is tried alone.
SUSPECTS_AT_ONCE = 10
#: a suspect with at least this number of losses is the only page that its shift has in hand
ALONE_FROM = 2
#: lost twice beside other pages and twice alone
FAILS_FROM = 4
#: a page that certainly stopped its work process is tried alone at once, and fails the second time
CERTAIN_LOSSES = 2


class PoisonSuspects(NamedTuple):
    """The URLs blamed for a lost shift, by id, and the number of losses that each is charged with.
    None for all URLs that the shift had in process.
    """

    url_ids: Collection[int] | None = None
    losses: int = 1


#: no fetched page is to blame for the loss
NOBODY = PoisonSuspects((), 0)
