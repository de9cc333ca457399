"""Which hosts a shift has leased, and for how long: leases them, keeps them in URLs, lets them
go."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection

from django.conf import settings

from crawling.frontier.admit.crawl_rules import filters_of, rules_key
from crawling.frontier.due_queues import contested
from crawling.frontier.host_placement import moved_away
from crawling.frontier.host_state import OutageChange, keep_certificates, keep_outages
from crawling.frontier.leases import (
    AskedHost,
    LeasedHost,
    ReturnedHost,
    count_requests,
    count_waiting,
    lease_hosts,
    let_go,
    rest_queues,
)
from crawling.frontier.record.outcome_writer import give_back
from crawling.frontier.run_lock import locked_run
from crawling.models import Run, Shift
from crawling.orders.sections.politeness import PolitenessPart
from crawling.pipeline.context import FetchContext
from crawling.pipeline.visit import Visit
from crawling.shift.name_thread import OF_FILES, NameThread, host_of
from crawling.shift.refill import HostRefill, set_known_robots, set_known_sessions
from crawling.shift.workbench import LONG_REST_SECONDS, Workbench
from crawling.web.addresses import LOCAL_FILES, dns_name
from dnscache.preresolver.gate import settled
from dnscache.resolver import resolve

#: hosts falling due within this are leased ahead; a shift with nothing due within it ends
SOON_SECONDS = 2.0
#: hosts leased for each fetch thread: enough to keep it busy while others rest out their delay
HOSTS_PER_THREAD = 20
#: a host is released after this if others of the run wait for its place, or if another crawl needs
#: it, which then gets time to begin
TURN_SECONDS = 20.0
YIELD_SECONDS = 5.0
#: URLs that a host of a full shift is given at a time: with so many hosts no fetch thread runs dry,
#: and none of them holds its place for long
FULL_SHARE = 5
#: when leasing found nothing, the database is not asked again before this
LEASE_PAUSE_SECONDS = 0.2


class HostLeases:
    """The shift's visits by queue id. Used by the shift's own thread only."""

    def __init__(
        self, shift: Shift, context: FetchContext, bench: Workbench, *, dns_slots: Callable[[], int]
    ) -> None:
        self._shift, self._context, self._bench = shift, context, bench
        self._supply = HostRefill(shift, context)
        self._names = NameThread(bench.put, dns_slots)
        self._visits: dict[int, Visit] = {}
        self._drained: list[Visit] = []
        self._yielded: dict[int, float] = {}
        self._aside: dict[int, float] = {}
        self._lease_again_at = 0.0
        #: ids of those that other processes serve now, and that are here still
        self._moved: set[int] = set()
        self._is_full = False

    def count(self) -> int:
        return len(self._visits)

    def obey(self, run: Run) -> None:
        """Follow rules that were edited, from the next fetch of each host and the next page's links
        on.
        """
        self._context.links.follow(rules_key(run.crawl), lambda: filters_of(run.crawl, run))
        pace = self._context.pace
        pace.follow(
            run.crawl.delay_seconds,
            PolitenessPart(**run.crawl.politeness),
            is_exact=run.crawl.has_exact_order,
        )
        for visit in self._visits.values():
            visit.clock.configured_delay, visit.clock.politeness = (
                pace.delay_seconds,
                pace.politeness,
            )

    def hand_over(self) -> None:
        """The run's hosts were placed anew: let those go soon that are another process's now."""
        here = [visit.host.host_id for visit in self._visits.values()]
        self._moved = moved_away(here, self._shift.process)

    def urls_in_hand(self) -> int:
        """How many are claimed and not yet begun."""
        return sum(len(visit.urls) for visit in self._visits.values())

    def names_waiting(self) -> int:
        """How many hosts wait for their names here."""
        return self._names.waiting

    def names_under_way(self) -> int:
        """How many names of hosts are looked up at this moment."""
        return self._names.under_way

    def tell(self) -> None:
        """Write down how names were come by."""
        self._names.counter.tell()

    @property
    def wants_refill(self) -> bool:
        """Whether a host has been noticed to have no URLs left."""
        return bool(self._drained)

    def notice_drained(self) -> None:
        """Take drained visits off the workbench, and those that are to be handed over.

        Asked before outcomes are collected, so that none of theirs is missed.
        """
        self._drained += self._bench.drained()
        if self._moved:
            self._drained += self._bench.withdraw(self._moved)

    def refill(self) -> None:
        """Claim more URLs for drained hosts, and for those that will be soon; release hosts that
        have no more URLs or had their turn.

        To be called when all outcomes are written: their links are what a host goes on with.
        """
        self._count_requests(self._visits.values())
        drained, self._drained = self._drained, []
        running_low = [
            visit
            for visit in self._visits.values()
            if 0 < len(visit.urls) < self._share(visit) * 3 // 4
        ]
        going = self._had_their_turn([*drained, *running_low])
        self._fill_up(
            [
                visit
                for visit in (*drained, *running_low)
                if visit.host.host_id not in going and not _rests(visit)
            ]
        )
        leaving = [
            visit
            for visit in drained
            if not visit.urls or _rests(visit) or visit.host.host_id in self._moved
        ]
        self._give_back_urls([visit for visit in leaving if visit.urls])
        # In this order: once a visit is on the workbench, a fetch thread may empty it before we
        # look again.
        self._let_go(leaving)
        self._bring_to_the_bench(
            [visit for visit in drained if visit.host.queue_id in self._visits]
        )

    def _fill_up(self, visits: list[Visit]) -> None:
        self._supply.give({visit: max(0, self._share(visit) - len(visit.urls)) for visit in visits})

    def _give_back_urls(self, visits: list[Visit]) -> None:
        """Put the URLs of hosts that rest for long back into their queues, untried."""
        if visits:
            with locked_run(self._shift.process.run_id):
                give_back(self._shift, [claimed.id for visit in visits for claimed in visit.urls])

    def _had_their_turn(self, visits: list[Visit]) -> set[int]:
        """Ids of the hosts that were here long enough and get no more URLs: other runs or processes
        need them, or other hosts of the run wait for their places. The first to come are the first
        to go.
        """
        if self._context.pace.is_exact:  # the next URL may be another host's
            return {visit.host.host_id for visit in visits}
        now = time.monotonic()
        moved = {visit.host.host_id for visit in visits} & self._moved
        longest_here = sorted(visits, key=lambda visit: visit.leased_at)
        old = [visit.host.host_id for visit in longest_here if now - visit.leased_at > TURN_SECONDS]
        if not old:
            return moved
        wanted = contested(old, self._shift.process.run_id) | moved_away(old, self._shift.process)
        self._yielded.update(dict.fromkeys(wanted, now + YIELD_SECONDS))
        waiting = (
            count_waiting(self._shift, most=len(old), avoid=self._yielded.keys())
            if self._is_full
            else 0
        )
        return moved | wanted | set(old[:waiting])

    def _share(self, visit: Visit) -> int:
        """How many URLs a host may have in hand: what its delay allows within a turn, and two
        batches at most, so that one is fetched while the outcomes of the other are written; few if
        the shift is full, and a single one if the order of visits is to be exact."""
        batch = self._shift.process.run.crawl.batch_size
        most = min(2 * batch, FULL_SHARE) if self._is_full else 2 * batch
        within_turn = TURN_SECONDS / visit.clock.delay if visit.clock.delay else math.inf
        return (
            1 if batch == 1 or self._context.pace.is_exact else max(1, int(min(most, within_turn)))
        )

    def lease_more(self, threads: int) -> None:
        """Lease hosts that are due, as many as the fetch threads can use, and send those with URLs
        to be resolved.

        Not for less than one for each fetch thread: hosts that take turns leave one by one, and are
        replaced by the handful.
        """
        if not self._names.is_alive:
            raise RuntimeError(
                "the thread that resolves names has ended; the worker's log says why"
            )
        most, least = (
            (1, 1) if self._context.pace.is_exact else (threads * HOSTS_PER_THREAD, max(1, threads))
        )
        room = most - len(self._visits)
        now = time.monotonic()
        if room < least:
            self._is_full = True
            return
        if now < self._lease_again_at:
            return
        self._yielded = {host: until for host, until in self._yielded.items() if until > now}
        self._aside = {host: until for host, until in self._aside.items() if until > now}
        hosts = lease_hosts(
            self._shift,
            limit=room,
            soon_seconds=SOON_SECONDS,
            delay_seconds=self._context.pace.delay_seconds,
            lease_seconds=settings.BANK_LEASE_SECONDS,
            avoid=self._yielded.keys(),
            is_exact=self._context.pace.is_exact,
        )
        self._is_full = len(hosts) == room
        if not self._open([self._visit(host) for host in hosts]):
            self._lease_again_at = now + LEASE_PAUSE_SECONDS

    def _visit(self, host: LeasedHost) -> Visit:
        pace = self._context.pace
        penalty_until = self._aside.pop(host.host_id, 0.0)
        return Visit.of(
            host,
            delay_seconds=pace.delay_seconds,
            politeness=pace.politeness,
            penalty_until=penalty_until,
        )

    def _open(self, visits: list[Visit]) -> bool:
        """Give new visits their first URLs and known robots.txt; whether any has something to
        do."""
        self._fill_up(visits)
        opened = [visit for visit in visits if visit.urls]
        self._let_go([visit for visit in visits if not visit.urls])
        set_known_robots(opened, self._context, self._shift.process.run)
        set_known_sessions(opened, self._context, self._shift.process.run_id)
        for visit in opened:
            self._visits[visit.host.queue_id] = visit
        self._bring_to_the_bench(opened)
        return bool(opened)

    def _bring_to_the_bench(self, visits: list[Visit]) -> None:
        """Answers are read for all at once; an unsettled name is looked up meanwhile, and its host
        comes later.
        """
        now = time.monotonic()
        outdated = {
            visit: dns_name(visit.host.name) for visit in visits if not visit.route.is_current(now)
        }
        found = settled({name for name in outdated.values() if name})
        for visit in visits:
            if visit.host.name == LOCAL_FILES:
                visit.route.resolve(OF_FILES)
            elif visit in outdated:
                name = outdated[visit]
                # an address, which needs no lookup
                resolution = found.get(name) if name else resolve(host_of(visit))
                if not resolution:
                    self._names.ask(visit)
                    continue
                visit.route.resolve(resolution)
                self._names.counter.note(resolution, 0.0)
            self._bench.put(visit)

    def _let_go(self, visits: list[Visit], *, longer: bool = False) -> None:
        now = time.monotonic()
        self._count_requests(visits)
        if by_budget := {
            visit.host.queue_id: visit.clock.free_at - now
            for visit in visits
            if visit.clock.rests_for_budget
        }:
            rest_queues(self._shift.process.run_id, by_budget)
        self._keep_outages(visits)
        self._keep_certificates(visits)
        let_go(
            self._shift,
            [
                ReturnedHost(
                    visit.host.host_id,
                    max(visit.clock.host_free_at - now, visit.clock.delay if longer else 0.0),
                    visit.clock.delay,
                    visit.clock.backoffs,
                    visit.availability.was_heard and not visit.host.was_heard,
                    visit.clock.rest_reason,
                )
                for visit in visits
            ],
        )
        for visit in visits:
            if visit.penalty_until > now:
                self._aside[visit.host.host_id] = visit.penalty_until
            self._visits.pop(visit.host.queue_id, None)
            self._moved.discard(visit.host.host_id)

    def _keep_outages(self, visits: list[Visit]) -> None:
        """Before the hosts are released: only the shift that leases them may write this."""
        news = [visit for visit in visits if not visit.availability.is_kept]
        keep_outages(
            self._shift,
            [
                OutageChange(
                    visit.host.queue_id,
                    visit.host.name,
                    visit.availability.outage,
                    visit.availability.given_up is not None,
                    dict(visit.availability.origins),
                    visit.host.origin_outages.keys(),
                )
                for visit in news
            ],
        )
        for visit in news:
            visit.availability.is_kept = True

    def _keep_certificates(self, visits: list[Visit]) -> None:
        found = {
            visit.host.queue_id: ends_at
            for visit in visits
            if (ends_at := visit.route.certificate_ends_at)
        }
        keep_certificates(self._shift, found)

    def _count_requests(self, visits: Collection[Visit]) -> None:
        if uncounted := {
            visit.host.host_id: visit for visit in visits if not visit.clock.is_counted
        }:
            for visit in uncounted.values():
                visit.clock.is_counted = True  # before its count is read: a thread may be fetching
            now = time.monotonic()
            asked = [
                AskedHost(
                    host,
                    visit.clock.spent,
                    visit.clock.delay,
                    max(0.0, visit.clock.host_free_at - now),
                )
                for host, visit in uncounted.items()
            ]
            count_requests(self._shift, asked)

    def close(self, *, still_fetching: bool) -> None:
        """Release every host; where a fetch thread may still be fetching, a whole delay after
        now.
        """
        self._names.close()
        self._names.counter.tell()
        self._let_go(list(self._visits.values()), longer=still_fetching)


def _rests(visit: Visit) -> bool:
    return visit.clock.free_at - time.monotonic() >= LONG_REST_SECONDS
