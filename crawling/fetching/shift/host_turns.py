"""The time that each of a shift's hosts stays, the number of its URLs in hand, and the report of
its visit to the frontier.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Sequence

from crawling.fetching.pipeline.context import CrawlPace
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier.due_queues import contested_hosts
from crawling.frontier.host_placement import hosts_of_other_processes
from crawling.frontier.host_state import OutageChange
from crawling.frontier.leases import count_waiting
from crawling.frontier.released_hosts import (
    AskedHost,
    ReturnedHost,
    ReturnedVisit,
    count_requests,
)
from crawling.models import Shift

#: a host is released after this if other hosts of the run wait for its place, or if another crawl
#: needs it, which then gets time to begin
TURN_SECONDS = 20.0
YIELD_SECONDS = 5.0
#: the number of URLs that a host of a full shift gets at a time: a full shift has enough hosts for
#: all fetch threads, so none should hold its place for long
FULL_SHARE = 5


class HostTurns:
    """The turns of a shift's hosts. Used by the shift's own thread only."""

    def __init__(self, shift: Shift, pace: CrawlPace) -> None:
        self._shift, self._pace = shift, pace
        #: by host, the time until which other shifts have precedence
        self._yielded: dict[int, float] = {}
        #: by host, the time until which its next visit gives precedence to other hosts
        self._aside: dict[int, float] = {}
        #: ids of hosts that are still here, but now belong to other processes
        self.moved: set[int] = set()
        #: no further host has a place
        self.is_full = False

    def hand_over(self, visits: Iterable[Visit]) -> None:
        """Soon release the hosts that now belong to another process, because the run's hosts were
        placed anew.
        """
        here = [visit.host.host_id for visit in visits]
        self.moved = hosts_of_other_processes(here, self._shift.process)

    def over(self, visits: Sequence[Visit]) -> set[int]:
        """Ids of the hosts that were here long enough and get no more URLs: other runs or processes
        need them, or other hosts of the run wait for their places. The hosts that came first go
        first.
        """
        if self._pace.is_exact:  # the next URL may belong to another host
            return {visit.host.host_id for visit in visits}
        now = time.monotonic()
        moved = {visit.host.host_id for visit in visits} & self.moved
        longest_here = sorted(visits, key=lambda visit: visit.leased_at)
        old = [visit.host.host_id for visit in longest_here if now - visit.leased_at > TURN_SECONDS]
        if not old:
            return moved
        wanted = contested_hosts(old, self._shift.process.run_id) | hosts_of_other_processes(
            old, self._shift.process
        )
        self._yielded.update(dict.fromkeys(wanted, now + YIELD_SECONDS))
        waiting = (
            count_waiting(self._shift, most=len(old), avoid=self._yielded.keys())
            if self.is_full
            else 0
        )
        return moved | wanted | set(old[:waiting])

    def most_urls(self, visit: Visit) -> int:
        """The number of URLs that a host may have in hand: as many as its delay allows within a
        turn, and two batches at most, so that one is fetched while the outcomes of the other are
        written. The number is small if the shift is full, and 1 if the order of visits is to be
        exact.
        """
        batch = self._shift.process.run.crawl.batch_size
        most = min(2 * batch, FULL_SHARE) if self.is_full else 2 * batch
        within_turn = TURN_SECONDS / visit.clock.delay if visit.clock.delay else math.inf
        return 1 if batch == 1 or self._pace.is_exact else max(1, int(min(most, within_turn)))

    def runs_low(self, visit: Visit) -> bool:
        """Whether a host that has URLs in hand will soon have none."""
        return 0 < len(visit.urls) < self.most_urls(visit) * 3 // 4

    def avoided(self) -> Collection[int]:
        """Ids of hosts that are not to be leased again yet."""
        now = time.monotonic()
        self._yielded = {host: until for host, until in self._yielded.items() if until > now}
        return self._yielded.keys()

    def penalty_of(self, host_id: int) -> float:
        """The moment until which a host that was leased again gives precedence to others."""
        return self._aside.pop(host_id, 0.0)

    def note_end(self, visit: Visit) -> None:
        now, host = time.monotonic(), visit.host.host_id
        self._aside = {other: until for other, until in self._aside.items() if until > now}
        if visit.penalty_until > now:
            self._aside[host] = visit.penalty_until
        self.moved.discard(host)


def count_all_requests(shift: Shift, visits: Iterable[Visit]) -> None:
    """Count the visits' requests that are not counted yet."""
    now = time.monotonic()
    if asked := [one for visit in visits if (one := _asked_host(visit, now))]:
        count_requests(shift, asked)


def returned_visit(visit: Visit, *, longer: bool) -> ReturnedVisit:
    """The report of a visit to the frontier. longer: a fetch may still be under way, so the host
    rests for a whole delay from now.
    """
    now, clock = time.monotonic(), visit.clock
    host = ReturnedHost(
        visit.host.host_id,
        max(clock.host_free_at - now, clock.delay if longer else 0.0),
        clock.delay,
        clock.backoffs,
        visit.availability.has_answered and not visit.host.has_answered,
        clock.rest_reason,
    )
    return ReturnedVisit(
        visit.host.queue_id,
        host,
        asked=_asked_host(visit, now),
        own_rest=clock.free_at - now if clock.rests_alone else None,
        outage=_outage_change(visit),
        certificate_ends_at=visit.route.certificate_ends_at,
    )


def _asked_host(visit: Visit, now: float) -> AskedHost | None:
    clock = visit.clock
    if clock.budget.is_counted:
        return None
    clock.budget.is_counted = True  # set before the count is read, since a thread may be fetching
    rest = max(0.0, clock.host_free_at - now)
    return AskedHost(visit.host.host_id, clock.budget.spent, clock.delay, rest)


def _outage_change(visit: Visit) -> OutageChange | None:
    found = visit.availability
    if found.is_kept:
        return None
    return OutageChange(
        visit.host.queue_id,
        visit.host.name,
        found.outage,
        found.given_up is not None,
        dict(found.origins),
        visit.host.origin_outages.keys(),
    )
