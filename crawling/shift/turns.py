"""Which hosts a shift has leased, and for how long: leases them, keeps them in URLs, lets them go."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from django.conf import settings

from crawling.frontier.claiming import ClaimedUrl, LeasedHost, claim_urls, lease_hosts, let_go
from crawling.frontier.due import contested
from crawling.frontier.robots import known_robots
from crawling.models import Shift
from crawling.processors.kit import Kit
from crawling.processors.prefetch import set_robots
from crawling.processors.visit import Visit
from crawling.rules.addresses import dns_name, read_address
from crawling.rules.robots import read_robots
from crawling.shift.names import NameThread
from crawling.shift.workbench import Workbench
from dnscache.gate import settled
from dnscache.tally import Tally

#: hosts falling due within this are leased ahead; a shift with nothing due within it ends
SOON_SECONDS = 2.0
#: hosts leased for each toe: enough to keep it busy while others rest out their delay
HOSTS_PER_TOE = 20
#: a host that another crawl wants too is let go after this, and left alone until that one had time to begin
TURN_SECONDS = 20.0
YIELD_SECONDS = 5.0
#: when leasing found nothing, the database is not asked again before this
LEASE_PAUSE_SECONDS = 0.2


class HostTurns:
    """The shift's visits by queue id. Used by the shift's own thread only."""

    def __init__(self, shift: Shift, kit: Kit, bench: Workbench, *, dns_slots: Callable[[], int]) -> None:
        self._shift, self._kit, self._bench = shift, kit, bench
        self._crawl = shift.process.run.crawl
        self._tally = Tally()
        self._names = NameThread(bench.put, dns_slots, self._tally)
        self._visits: dict[int, Visit] = {}
        self._drained: list[Visit] = []
        self._yielded: dict[int, float] = {}
        self._lease_again_at = 0.0

    def count(self) -> int:
        return len(self._visits)

    def obey(self, delay_seconds: float, max_depth: int | None) -> None:
        """Follow an order that was edited, from the next fetch of each host and the next page's links on."""
        self._kit.delay_seconds = delay_seconds
        self._kit.scope = replace(self._kit.scope, max_depth=max_depth)
        for visit in self._visits.values():
            visit.configured_delay = delay_seconds

    def names_waiting(self) -> int:
        """How many hosts wait for their names here."""
        return self._names.waiting

    def tell(self) -> None:
        """Write down how names were come by."""
        self._tally.tell()

    def notice_drained(self) -> None:
        """Take drained visits off the workbench. Asked before outcomes are collected, so that none of theirs is missed."""
        self._drained += self._bench.drained()

    def refill(self) -> None:
        """Claim more URLs for drained hosts, and for those that will be soon; let go what has no more or had its turn.

        To be called when all outcomes are written: their links are what a host goes on with.
        """
        drained, self._drained = self._drained, []
        running_low = [visit for visit in self._visits.values() if visit.urls and len(visit.urls) < self._share(visit) // 2]
        going = self._had_their_turn([*drained, *running_low])
        claimed = self._claim([visit for visit in (*drained, *running_low) if visit.host.host_id not in going])
        for queue, urls in claimed.items():
            self._visits[queue].urls.extend(urls)
        # In this order: once a visit is on the workbench, a toe may empty it before we look again.
        self._let_go([visit for visit in drained if not visit.urls])
        self._bring_to_the_bench([visit for visit in drained if visit.urls])

    def _had_their_turn(self, visits: list[Visit]) -> set[int]:
        """Ids of the hosts that another crawl wants too and that were here long enough: they get no more URLs."""
        now = time.monotonic()
        old = [visit.host.host_id for visit in visits if now - visit.leased_at > TURN_SECONDS]
        wanted = contested(old, self._shift.process.run_id) if old else set()
        self._yielded.update(dict.fromkeys(wanted, now + YIELD_SECONDS))
        return wanted

    def _share(self, visit: Visit) -> int:
        """How many URLs a host is given at a time: a batch, or what its delay allows within a turn."""
        within_turn = TURN_SECONDS / visit.delay if visit.delay else self._crawl.batch_size
        return max(1, min(self._crawl.batch_size, int(within_turn)))

    def _claim(self, visits: list[Visit]) -> dict[int, list[ClaimedUrl]]:
        wanted = {visit.host.queue_id: max(0, self._share(visit) - len(visit.urls)) for visit in visits}
        claimed = claim_urls(self._shift, wanted) if wanted else {}
        # A seed may have redirected here since the shift began, and then counts as a seed.
        if seeds := [read_address(url.url) for urls in claimed.values() for url in urls if url.depth == 0]:
            self._kit.scope = self._kit.scope.with_seeds(seeds)
        return claimed

    def lease_more(self, toes: int) -> None:
        """Lease hosts that are due, as many as the toes can use, and send those with URLs to be resolved."""
        if not self._names.is_alive:
            raise RuntimeError("the thread that resolves names has ended; the worker's log says why")
        room = toes * HOSTS_PER_TOE - len(self._visits)
        now = time.monotonic()
        if room <= 0 or now < self._lease_again_at:
            return
        self._yielded = {host: until for host, until in self._yielded.items() if until > now}
        hosts = lease_hosts(
            self._shift,
            limit=room,
            soon_seconds=SOON_SECONDS,
            delay_seconds=self._kit.delay_seconds,
            lease_seconds=settings.BANK_LEASE_SECONDS,
            avoid=self._yielded.keys(),
        )
        if not self._open([self._visit(host) for host in hosts]):
            self._lease_again_at = now + LEASE_PAUSE_SECONDS

    def _visit(self, host: LeasedHost) -> Visit:
        now = time.monotonic()
        return Visit(host, None, free_at=now + host.wait_seconds, leased_at=now, configured_delay=self._kit.delay_seconds)

    def _open(self, visits: list[Visit]) -> bool:
        """Give new visits their first URLs and known robots.txt; whether any has something to do."""
        claimed = self._claim(visits)
        for visit in visits:
            visit.urls = deque(claimed.get(visit.host.queue_id, ()))
        opened = [visit for visit in visits if visit.urls]
        self._let_go([visit for visit in visits if not visit.urls])
        self._set_known_robots(opened)
        for visit in opened:
            self._visits[visit.host.queue_id] = visit
        self._bring_to_the_bench(opened)
        return bool(opened)

    def _bring_to_the_bench(self, visits: list[Visit]) -> None:
        """Answers are read for all at once; a name that is not settled is asked for beside, and its host comes later."""
        now = time.monotonic()
        outdated = {visit: dns_name(visit.host.name) for visit in visits if visit.resolution is None or visit.resolved_until <= now}
        found = settled({name for name in outdated.values() if name})
        for visit in visits:
            if visit in outdated:
                if not (resolution := found.get(outdated[visit])):
                    self._names.ask(visit)
                    continue
                visit.resolve(resolution)
                self._tally.note(resolution, 0.0)
            self._bench.put(visit)

    def _set_known_robots(self, visits: list[Visit]) -> None:
        origins = {visit.host.queue_id: {read_address(claimed.url).origin for claimed in visit.urls} for visit in visits}
        known = known_robots(set().union(*origins.values())) if visits else {}
        for visit in visits:
            for origin in origins[visit.host.queue_id] & known.keys():
                set_robots(visit, origin, read_robots(*known[origin], self._kit.token))

    def _let_go(self, visits: list[Visit], *, longer: bool = False) -> None:
        now = time.monotonic()
        let_go(
            self._shift,
            [(visit.host.host_id, max(visit.free_at - now, visit.delay if longer else 0.0), visit.delay) for visit in visits],
        )
        for visit in visits:
            self._visits.pop(visit.host.queue_id, None)

    def close(self, *, still_fetching: bool) -> None:
        """Let every host go; where a toe may still be fetching, a whole delay after now."""
        self._names.close()
        self._tally.tell()
        self._let_go(list(self._visits.values()), longer=still_fetching)
