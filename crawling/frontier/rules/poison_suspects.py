"""How pages are tried that may have killed their worker, by the number of shifts that were lost
while they were in hand.

A shift can be lost for many reasons: an operator's kill, a power cut, a machine out of memory. So
its pages in process are only suspects. A shift may have one suspect beside other pages. If that
shift is lost, too, the suspect is from then on tried alone: so whatever comes from outside has no
more than its own fetch to hit it in. It fails when that was hit again and again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

#: from so many losses on, a shift that has it in hand has nothing else
ALONE_FROM = 2
#: lost twice in company and twice alone
FAILS_FROM = 4
#: a page that is known to have stopped its work process is tried alone at once, and fails the
#: second time
CERTAIN_LOSSES = 2


class PoisonSuspects(NamedTuple):
    """Which URLs a lost shift is held against, by id, and how many losses that counts for each;
    None: all that it had in process.
    """

    url_ids: Collection[int] | None = None
    losses: int = 1


#: nothing that was fetched has to do with the loss
NOBODY = PoisonSuspects((), 0)
