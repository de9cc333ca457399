"""Which page leaves the browser's own process, which is one for all, no time for other pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: the part of the time for which the main thread of a process that has no time to spare wants to
#: run
SATURATED = 0.7
#: The seconds for which that thread has run since it last had time to spare. They are of a
#: processor, so that no page is ended for what other programs take. A usual page needs 0.05, and
#: four large ones that load 300 files each, at the same time, about 1
MOST_SECONDS = 2.0


class BrowserLoad(NamedTuple):
    """Totals at a moment, all in seconds."""

    at: float
    #: the main thread of the browser's own process ran, and was ready to, but had no processor
    ran: float
    waited: float
    #: the processor time of pages at work, by their numbers
    pages: Mapping[int, float]


class LoadWatch:
    def __init__(self) -> None:
        #: Chromium's own process, for the reader; 0 if it is not known
        self.process = 0
        self._last: BrowserLoad | None = None
        #: how long the thread had run when it last had time to spare, and pages had then, or at
        #: their beginnings
        self._ran, self._pages = 0.0, dict[int, float]()

    def burdening(self, look: BrowserLoad) -> int | None:
        """The page to be ended, if there is one: it has worked more than that thread meanwhile, and
        others wait.
        """
        last, self._last = self._last, look
        if last is None or _has_time(last, look):
            self._ran, self._pages = look.ran, dict(look.pages)
            return None
        worked = {
            number: seconds - self._pages.setdefault(number, seconds)
            for number, seconds in look.pages.items()
        }
        ran = look.ran - self._ran
        if len(worked) < 2 or ran < MOST_SECONDS:
            return None
        busiest = max(worked, key=worked.__getitem__)
        return busiest if worked[busiest] > ran else None


def _has_time(last: BrowserLoad, look: BrowserLoad) -> bool:
    wanted = look.ran - last.ran + look.waited - last.waited
    return wanted < SATURATED * (look.at - last.at)
