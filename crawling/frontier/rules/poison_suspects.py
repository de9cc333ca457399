"""How to try pages that may have killed their worker, by the number of shifts that were lost while
they were in hand.

A shift can be lost for many reasons: an operator's kill, a power cut, a machine out of memory. So
its pages in process are only suspects. A shift may have one suspect beside other pages. If that
shift is lost, too, the suspect is then tried alone, so that an outside cause can only hit its own
fetch. The suspect fails when its own fetch is lost again and again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

#: from this number of losses on, a shift with the suspect in hand has no other page
ALONE_FROM = 2
#: lost twice in company and twice alone
FAILS_FROM = 4
#: a page that is known to have stopped its work process is tried alone at once, and fails the
#: second time
CERTAIN_LOSSES = 2


class PoisonSuspects(NamedTuple):
    """The URLs blamed for a lost shift, by id, and how many losses that counts for each; None for
    all URLs that it had in process.
    """

    url_ids: Collection[int] | None = None
    losses: int = 1


#: no fetched page is to blame for the loss
NOBODY = PoisonSuspects((), 0)
