"""Memory for documents whose reading takes much: requested from the pool as a stage while one
waits, and released when none needs it any more.
"""

from __future__ import annotations

import time

from crawling.machine.memory_limit import MemoryLimit
from crawling.orders.claims import memory_share
from crawling.orders.fields import MIB
from crawling.web.fetch.budgets import DEADLINE_SECONDS, MemoryBudget
from crawling.work.shift.grants import ShiftGrants

#: how often a wait is looked at
LOOK_SECONDS = 0.2
#: memory without use for so long is released
IDLE_SECONDS = 5.0


class MemoryStage:
    """Used by the shift's own thread.

    A shift begins with what its fetch threads' shares need, and holds everything else while it asks
    for more.
    """

    def __init__(self, grants: ShiftGrants) -> None:
        self._grants = grants
        self._limit = MemoryLimit()
        self._share = memory_share(grants.claim)
        self.budget = MemoryBudget(rest=self._rest(), most=self._most())
        self._is_asked = False
        self._looked_at = self._used_at = time.monotonic()

    def set_limit(self, *, beside: int = 0) -> None:
        """Limit this process to the held memory, and so many bytes."""
        self._limit.allow(self._grants.held["memory"] * MIB + beside)

    def end(self) -> None:
        self._limit.end()

    def units_for(self, threads: int) -> int:
        """MiB of the shares of so many fetch threads."""
        return -(-self._share * threads // MIB)

    def most_threads(self) -> int:
        """The number of threads for which there are shares of the held memory."""
        return self._grants.held["memory"] * MIB // self._share

    def _rest(self) -> int:
        return max(0, self._grants.held["memory"] - self._units_of_shares()) * MIB

    def _most(self) -> int:
        return max(0, self._grants.claim["memory"] - self._units_of_shares()) * MIB

    def _units_of_shares(self) -> int:
        return self.units_for(
            max(self._grants.held["fetch_slots"], self._grants.claim["fetch_slots"])
        )

    def tend(self) -> None:
        """Ask for what the document whose turn it is lacks; check the request; give back what is
        idle.

        A document that lacks something keeps a fetch thread meanwhile, so that is asked for at
        once.
        """
        now, shortage = time.monotonic(), self.budget.shortage()
        if now - self._looked_at < LOOK_SECONDS and (self._is_asked or not shortage):
            return
        self._looked_at = now
        if self._is_asked:
            self._is_asked = not self._grants.stage_is_over(give_up=not shortage)
        elif shortage:
            self._ask(shortage)
        self.budget.set_rest(self._rest(), self._most())
        self._give_back_idle(now)

    def _ask(self, shortage: int) -> None:
        units = min(-(-shortage // MIB), self._grants.left("memory"))
        if units > 0 and not self._grants.has_stage:
            self._is_asked = not self._grants.ask_stage({"memory": units}, DEADLINE_SECONDS)

    def _give_back_idle(self, now: float) -> None:
        units = self._rest() // MIB
        if self._is_asked or not units or not self.budget.is_idle:
            self._used_at = now
        elif now - self._used_at > IDLE_SECONDS and self.budget.clear():
            self._grants.give_back({"memory": units}, "no document needs it")
