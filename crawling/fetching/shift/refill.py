"""The refill of hosts when their turn begins or goes on: URLs with their answers from earlier runs,
known robots.txt files, and the run's sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from crawling.archive.earlier_answers import EarlierAnswer, earlier_answers
from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.preconditions import set_robots
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier import ClaimedUrl, claim_urls
from crawling.frontier.change.reusable_pages import (
    find_fresh_pages,
    find_pages_not_due,
    find_steady_pages,
)
from crawling.frontier.host_state import expired_robots, stored_sessions, valid_robots
from crawling.frontier.own_robots import robots_of_run
from crawling.models import Run, Shift
from crawling.web.addresses import WEB, Address, canonical_address


class HostRefill:
    """The refill of a shift. Used by its own thread only."""

    def __init__(self, shift: Shift, context: FetchContext) -> None:
        self._shift, self._context = shift, context
        self._crawl = shift.process.run.crawl

    def give(self, wanted: Mapping[Visit, int]) -> None:
        """Claim the wanted number of URLs for each visit, or all that are left, with the answers of
        earlier runs.
        """
        if not wanted:
            return
        visits = {visit.host.queue_id: visit for visit in wanted}
        claimed = claim_urls(
            self._shift, {visit.host.queue_id: count for visit, count in wanted.items()}
        )
        every = [url for of_host in claimed.values() for url in of_host]
        self._find_known_answers(every)
        self._take_for_seeds(every)
        earlier = self._earlier_answers(every)
        for queue, urls in claimed.items():
            visits[queue].earlier.update(
                {url.id: earlier[url.id] for url in urls if url.id in earlier}
            )
            visits[queue].urls.extend(urls)

    def _take_for_seeds(self, claimed: list[ClaimedUrl]) -> None:
        """Treat claimed URLs of depth 0 as seeds: a seed may have redirected to them since the
        shift began.
        """
        if first := [url for url in claimed if url.depth == 0]:
            self._context.links.add_seeds(
                [canonical_address(url.url) for url in first if not url.redirects],
                [canonical_address(url.url) for url in first if url.redirects],
            )

    def _find_known_answers(self, claimed: list[ClaimedUrl]) -> None:
        """Find URLs that need not be fetched, because they are probably unchanged or another crawl
        has them.
        """
        run, reuse = self._shift.process.run, self._crawl.order.reuse
        ids = [url.id for url in claimed]
        if reuse.visits_a_day:
            steady = find_pages_not_due(run, ids)
        elif days := reuse.revisit_days:
            steady = find_steady_pages(run, ids, days=days)
        else:
            steady = {}
        if seconds := reuse.reuse_seconds:
            left = [url for url in claimed if url.id not in steady]
            self._context.offers.make(find_fresh_pages(run, left, seconds=seconds))
        self._context.offers.make(steady, of_others=False)

    def _earlier_answers(self, claimed: list[ClaimedUrl]) -> dict[int, EarlierAnswer]:
        """The earlier answers of URLs, by their ids, with which fetch threads ask whether a page
        has changed.
        """
        return (
            earlier_answers(self._shift.process.run, [url.id for url in claimed])
            if self._crawl.archive
            else {}
        )


def set_known_robots(visits: Sequence[Visit], context: FetchContext, run: Run) -> None:
    """Apply the stored robots.txt of the origins of the visits' URLs, and of the same hosts' other
    origins. The run's own files go before those that all crawls share. If a host was found not to
    answer, its robots.txt is requested again.
    """
    visits = [visit for visit in visits if not visit.availability.lacks_robots]
    origins = {
        visit.host.queue_id: {
            origin for claimed in visit.urls for origin in _origins(canonical_address(claimed.url))
        }
        for visit in visits
    }
    every = set().union(*origins.values()) if visits else set()
    if not every:
        return
    known, old = valid_robots(every), {}
    if context.client.may_get_different_answers:
        own = robots_of_run(run.pk, run.crawl.revision, every)
        known, old = known | own.fresh, own.old
    if lacking := every - known.keys():
        old = expired_robots(lacking) | old
    for visit in visits:
        for origin in origins[visit.host.queue_id] & known.keys():
            set_robots(visit, origin, context.robots.read(*known[origin]))
        visit.robots.outdated.update(
            {origin: old[origin] for origin in origins[visit.host.queue_id] & old.keys()}
        )


def _origins(address: Address) -> Iterator[str]:
    """The URL's origin, and the host's origin with the other of the two schemes HTTP and HTTPS. If
    only one of the two answers, only the URLs of the other origin wait.
    """
    yield address.origin
    scheme, rest = address.origin.split("://", 1)
    if scheme in WEB:
        yield from (f"{other}://{rest}" for other in WEB - {scheme})


def set_known_sessions(visits: Sequence[Visit], context: FetchContext, run_id: int) -> None:
    """Read the hosts' stored sessions: another shift of the run may have had a host meanwhile."""
    if not visits or not context.client.keeps_sessions:
        return
    kept = stored_sessions(run_id, [visit.host.host_id for visit in visits])
    for visit in visits:
        session = context.client.session_of(visit.host.name)
        for one in kept.get(visit.host.host_id, ()):
            if session.cookies:
                session.cookies.learn(one.state["cookies"])
            if one.is_own:
                session.learn(one.state)
