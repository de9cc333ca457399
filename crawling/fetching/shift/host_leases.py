"""The hosts that a shift leases: their leases, their claimed URLs, and their release."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from django.conf import settings

from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.visit import Visit
from crawling.fetching.shift.host_turns import HostTurns, count_all_requests, returned_visit
from crawling.fetching.shift.name_thread import HostNames
from crawling.fetching.shift.refill import HostRefill, set_known_robots, set_known_sessions
from crawling.fetching.shift.workbench import LONG_REST_SECONDS, Workbench
from crawling.frontier import (
    LeasedHost,
    filters_of_run,
    lease_hosts,
    locked_run,
    return_hosts,
    return_urls,
    rules_key,
)
from crawling.models import Run, Shift

#: hosts that are due within this time are leased in advance; without any such host a shift ends
SOON_SECONDS = 2.0
#: hosts leased for each fetch thread: enough to keep it busy while others rest out their delay
HOSTS_PER_THREAD = 20
#: the pause after a search for hosts that found none
LEASE_PAUSE_SECONDS = 0.2


class HostLeases:
    """The visits of a shift, by queue id. Used by the shift's own thread only."""

    def __init__(
        self, shift: Shift, context: FetchContext, bench: Workbench, *, dns_slots: Callable[[], int]
    ) -> None:
        self._shift, self._context, self._bench = shift, context, bench
        self._supply = HostRefill(shift, context)
        self._turns = HostTurns(shift, context.pace)
        self.names = HostNames(bench, dns_slots)
        self._visits: dict[int, Visit] = {}
        self._drained: list[Visit] = []
        self._lease_again_at = 0.0

    def count(self) -> int:
        return len(self._visits)

    def obey(self, run: Run) -> None:
        """Follow edited rules, from the next fetch of each host and the links of the next page
        on.
        """
        self._context.links.follow(
            rules_key(run.crawl), lambda: filters_of_run(run.crawl, run), run.crawl.extract
        )
        pace = self._context.pace
        pace.follow(
            run.crawl.delay_seconds,
            run.crawl.order.politeness,
            is_exact=run.crawl.has_exact_order,
        )
        for visit in self._visits.values():
            visit.clock.configured_delay, visit.clock.politeness = (
                pace.delay_seconds,
                pace.politeness,
            )

    def hand_over(self) -> None:
        """Soon release the hosts that now belong to another process, because the run's hosts were
        placed anew.
        """
        self._turns.hand_over(self._visits.values())

    def urls_in_hand(self) -> int:
        """The number of claimed URLs that are not begun yet."""
        return sum(len(visit.urls) for visit in self._visits.values())

    @property
    def wants_refill(self) -> bool:
        """Whether a host was seen to have no URLs left."""
        return bool(self._drained)

    def notice_drained(self) -> None:
        """Take drained visits, and visits that are handed over, off the workbench.

        Called before outcomes are collected, so that no outcome of these visits is missed.
        """
        self._drained += self._bench.drained()
        if self._turns.moved:
            self._drained += self._bench.withdraw(self._turns.moved)

    def refill(self) -> None:
        """Claim more URLs for hosts that are drained or soon will be. Release hosts that have no
        more URLs or had their turn.

        Called when all outcomes are written, since a host continues with their links.
        """
        count_all_requests(self._shift, self._visits.values())
        drained, self._drained = self._drained, []
        low = [visit for visit in self._visits.values() if self._turns.runs_low(visit)]
        over = self._turns.over([*drained, *low])
        self._fill_up(
            [
                visit
                for visit in (*drained, *low)
                if visit.host.host_id not in over and not _rests_long(visit)
            ]
        )
        leaving = [
            visit
            for visit in drained
            if not visit.urls or _rests_long(visit) or visit.host.host_id in self._turns.moved
        ]
        self._give_back_urls([visit for visit in leaving if visit.urls])
        # Release before filling: once a visit is on the workbench, a fetch thread may empty it
        # before we look again.
        self._let_go(leaving)
        self.names.bring([visit for visit in drained if visit.host.queue_id in self._visits])

    def _fill_up(self, visits: Sequence[Visit]) -> None:
        self._supply.give(
            {visit: max(0, self._turns.most_urls(visit) - len(visit.urls)) for visit in visits}
        )

    def _give_back_urls(self, visits: Sequence[Visit]) -> None:
        """Put the URLs of hosts that rest for long back into their queues, untried."""
        if visits:
            with locked_run(self._shift.process.run_id):
                return_urls(self._shift, [claimed.id for visit in visits for claimed in visit.urls])

    def lease_more(self, threads: int) -> None:
        """Lease hosts that are due, as many as the fetch threads can use, and send those with URLs
        to be resolved.

        Lease at least one for each fetch thread: hosts that take turns leave one by one and are
        replaced a few at a time.
        """
        self.names.check()
        pace = self._context.pace
        most, least = (1, 1) if pace.is_exact else (threads * HOSTS_PER_THREAD, max(1, threads))
        room = most - len(self._visits)
        now = time.monotonic()
        if room < least:
            self._turns.is_full = True
            return
        if now < self._lease_again_at:
            return
        hosts = lease_hosts(
            self._shift,
            limit=room,
            soon_seconds=SOON_SECONDS,
            delay_seconds=pace.delay_seconds,
            lease_seconds=settings.BANK_LEASE_SECONDS,
            avoid=self._turns.avoided(),
            is_exact=pace.is_exact,
        )
        self._turns.is_full = len(hosts) == room
        if not self._open_visits([self._visit(host) for host in hosts]):
            self._lease_again_at = now + LEASE_PAUSE_SECONDS

    def _visit(self, host: LeasedHost) -> Visit:
        pace = self._context.pace
        return Visit.of(
            host,
            delay_seconds=pace.delay_seconds,
            politeness=pace.politeness,
            penalty_until=self._turns.penalty_of(host.host_id),
        )

    def _open_visits(self, visits: Sequence[Visit]) -> bool:
        """Give new visits their first URLs and known robots.txt files. Return whether any visit has
        work.
        """
        self._fill_up(visits)
        opened = [visit for visit in visits if visit.urls]
        self._let_go([visit for visit in visits if not visit.urls])
        set_known_robots(opened, self._context, self._shift.process.run)
        set_known_sessions(opened, self._context, self._shift.process.run_id)
        self._visits.update({visit.host.queue_id: visit for visit in opened})
        self.names.bring(opened)
        return bool(opened)

    def _let_go(self, visits: Sequence[Visit], *, longer: bool = False) -> None:
        return_hosts(self._shift, [returned_visit(visit, longer=longer) for visit in visits])
        for visit in visits:
            visit.availability.is_kept = True
            self._turns.note_end(visit)
            self._visits.pop(visit.host.queue_id, None)

    def close(self, *, still_fetching: bool) -> None:
        """Release every host. If a fetch thread may still be fetching, hosts rest for a whole delay
        from now.
        """
        self.names.close()
        self._let_go(list(self._visits.values()), longer=still_fetching)


def _rests_long(visit: Visit) -> bool:
    return visit.clock.free_at - time.monotonic() >= LONG_REST_SECONDS
