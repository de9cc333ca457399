"""A shift's requests for browser pages and their memory, given back once they are idle."""

from __future__ import annotations

import time

from crawling.fetching.pipeline.browser_budget import BrowserBudget
from crawling.fetching.shift.browser import ShiftBrowser
from crawling.fetching.shift.grants import IDLE_SECONDS, LOOK_SECONDS, ShiftGrants
from crawling.orders.claims import BROWSER_MEMORY, BROWSER_PAGES
from crawling.web.fetch.budgets import DEADLINE_SECONDS

#: a request that waits for so long is withdrawn if the shift needs something else as a stage
TURN_SECONDS = 2.0


class BrowserStage:
    """Used by the shift's own thread. Fetch threads use its `budget`.

    A page and its memory are requested together, a page at a time, so a shift never has one of the
    two and waits for the other. Between shifts the pool prevents deadlock.
    """

    def __init__(self, grants: ShiftGrants, mebibytes_each: int, browser: ShiftBrowser) -> None:
        self._grants, self.browser = grants, browser
        self.budget = BrowserBudget(mebibytes_each)
        self._is_asked = self._has_yielded = False
        self._asked_at = self._looked_at = self._used_at = time.monotonic()

    def tend(self, *, others_want: bool) -> None:
        """Request the page that a fetch thread waits for, check an earlier request, and give back
        idle units.

        others_want: memory or an archive writer is wanted, while a shift has one stage at a time.
        """
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        if self._is_asked:
            has_had_turn = others_want and now - self._asked_at > TURN_SECONDS
            self._is_asked = not self._grants.stage_is_over(
                give_up=has_had_turn or not self.budget.is_short
            )
            self._has_yielded = has_had_turn and not self._is_asked
        elif self._grants.has_stage or not others_want:
            self._has_yielded = False
        self._fit()
        may_ask = not (self._is_asked or self._has_yielded)
        while may_ask and self.budget.is_short and self._request_page(now):
            self._fit()
        self._give_back_idle(now)

    def stop_waiting(self) -> None:
        """Let no fetch thread wait for units, nor for the start of the browser."""
        self.budget.end()
        self.browser.stop_waiting()

    def in_use(self) -> dict[str, int]:
        """The units of open pages, by class."""
        return {
            BROWSER_PAGES: self.budget.open_pages,
            BROWSER_MEMORY: self.budget.open_mebibytes,
        }

    def _fit(self) -> None:
        """Let threads open what the shift holds, up to its Max, and give back what is held beyond
        a Max that was lowered.
        """
        held, claim, used = self._grants.held, self._grants.claim, self.in_use()
        self.budget.set_held(*(min(held.get(key, 0), claim.get(key, 0)) for key in used))
        surplus = {key: held.get(key, 0) - max(claim.get(key, 0), used[key]) for key in used}
        if surplus := {key: units for key, units in surplus.items() if units > 0}:
            self._grants.give_back(surplus, "Max was lowered")

    def _request_page(self, now: float) -> bool:
        """Request a page, or only its memory if a page is there that had less. Return whether the
        pool granted it at once.
        """
        held, used = self._grants.held, self.in_use()
        needed = {BROWSER_PAGES: used[BROWSER_PAGES] + 1}
        needed[BROWSER_MEMORY] = used[BROWSER_MEMORY] + self.budget.each
        amounts = {key: units - held.get(key, 0) for key, units in needed.items()}
        amounts = {key: units for key, units in amounts.items() if units > 0}
        is_beyond_claim = any(units > self._grants.left(key) for key, units in amounts.items())
        if self._grants.has_stage or is_beyond_claim or not amounts:
            return False
        self._asked_at = now
        is_granted = self._grants.request_stage(amounts, DEADLINE_SECONDS)
        self._is_asked = not is_granted
        return is_granted

    def _give_back_idle(self, now: float) -> None:
        held, used = self._grants.held, self.in_use()
        spare = [key for key in used if held.get(key, 0) > used[key]]
        if self._is_asked or not spare:
            self._used_at = now
        elif now - self._used_at > IDLE_SECONDS:
            pages, mebibytes = self.budget.withdraw_spare()
            amounts = {BROWSER_PAGES: pages, BROWSER_MEMORY: mebibytes}
            if idle := {key: units for key, units in amounts.items() if units > 0}:
                self._grants.give_back(idle, "no page to be rendered needs it")
