"""Admit new URLs into a run's frontier, each exactly once (SEEDS W11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, starmap
from types import MappingProxyType
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.admit.credits import ranking_of
from crawling.frontier.admit.rediscovery import Rediscovery, update_known_urls
from crawling.frontier.host_placement import host_counts
from crawling.frontier.rules.hosts import place_hosts
from crawling.frontier.run_counts import QueueCount
from crawling.frontier.sql_rows import SentRows, add_hosts, read_rows
from crawling.frontier.types import Candidate
from crawling.models import Run, UrlState
from crawling.orders.ranking import Ranking
from crawling.web.addresses import fingerprint, signed_64_bits
from crawling.web.public_suffixes import domain_of

#: the most URLs that a statement inserts or looks up. The server waits for the next statement,
#: under the run's lock, while its rows are made, and other threads of the shift may have the
#: interpreter
MOST_ROWS = 2_000


class NewQueue(NamedTuple):
    name: str
    number: int
    domain: str


NEW_QUEUES = SentRows("new", NewQueue)
#: in the order of their assignment, so that a later assignment in the order of ids has the same
#: result
ADD_QUEUES = f"""
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, domain)
SELECT %(run)s, h.id, new.number, new.domain
FROM {NEW_QUEUES.numbered_rows} JOIN crawling_host h ON h.name = new.name
ORDER BY new.place
ON CONFLICT (run_id, host_id) DO NOTHING
"""  # noqa: S608  # constants

FIND_QUEUES = """
SELECT h.name, q.id FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
WHERE q.run_id = %s AND h.name = ANY(%s)
"""


class NewUrl(NamedTuple):
    queue_id: int
    fingerprint: int
    url: str
    depth: int
    rank: float
    via: int | None
    redirects: int
    pattern: int | None
    backlinks: int
    hops: int
    nesting: int


NEW_URLS = SentRows("new", NewUrl)
#: ids follow the order of the rows, and URLs of equal rank are visited in the order of their ids
ADD_URLS = f"""
INSERT INTO crawling_url (run_id, state, {NEW_URLS.names})
SELECT %(run)s, %(state)s, {NEW_URLS.columns} FROM {NEW_URLS.numbered_rows}
ORDER BY new.place
ON CONFLICT (run_id, fingerprint) DO NOTHING
RETURNING queue_id, fingerprint
"""  # noqa: S608  # constants

ADDED = SentRows("added", QueueCount)
COUNT_ADDED = f"""
UPDATE crawling_hostqueue q SET queued = q.queued + added.n,
    due_at = greatest(q.retry_at, least(q.due_at, clock_timestamp()))
FROM {ADDED} WHERE q.id = added.id
"""  # noqa: S608  # constants


class SeenUrl(NamedTuple):
    fingerprint: int
    url: str
    depth: int
    state: str


FIND_SEEN = (
    "SELECT fingerprint, url, depth, state FROM crawling_url WHERE run_id = %s "
    "AND fingerprint = ANY(%s)"
)


class Scheduled(NamedTuple):
    #: the number of URLs that are new to the run
    new: int = 0
    #: the URLs that the run already had
    known: Collection[str] = ()
    #: credits from links that no URL received, by the URL of the link's target
    unspent: Mapping[str, float] = MappingProxyType({})


def schedule_urls(
    run: Run,
    candidates: Sequence[Candidate],
    *,
    numbers: Sequence[int],
    state: UrlState = UrlState.QUEUED,
    gains: Mapping[str, float] | None = None,
) -> Scheduled:
    """Queue candidates that this run has not seen, or store them in another state.

    The caller holds the run's lock.

    numbers: the numbers of the run's processes to which hosts are assigned. gains: the gains from
    the links, by URL (`crawling.frontier.admit.credits`).
    """
    gains = gains or {}
    if not candidates:
        return Scheduled(unspent=gains)
    with connection.cursor() as cursor:
        scheduler = _Scheduler(
            cursor=cursor,
            run_id=run.pk,
            ranking=ranking_of(run),
            queues=_queue_ids(cursor, run.pk, candidates, numbers),
            state=state,
            gains=gains,
            links=count_links(candidates),
        )
        once = iter(_unique_urls(candidates).items())
        while some := list(islice(once, MOST_ROWS)):
            scheduler.add_all([(fingerprint(url), candidate) for url, candidate in some])
        scheduler.count_added()
    return scheduler.scheduled()


def count_links(candidates: Iterable[Candidate]) -> Counter[str]:
    """The number of links of pages that lead to each URL."""
    return Counter(one.address.url for one in candidates if one.is_link and one.via is not None)


def _unique_urls(candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    """Each URL once, at the position where it was found first, with the shortest path to it."""
    once: dict[str, Candidate] = {}
    for candidate in candidates:
        if candidate.depth < once.setdefault(candidate.address.url, candidate).depth:
            once[candidate.address.url] = candidate
    return once


def unseen_candidates(run_id: int, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that are new to the run.

    If two URLs have one fingerprint, the later counts as known. This happens to one in 10^19 pairs.
    """
    marks = {fingerprint(candidate.address.url): candidate for candidate in candidates}
    with connection.cursor() as cursor:
        cursor.execute(FIND_SEEN, [run_id, list(marks)])
        for row in read_rows(cursor, SeenUrl):
            del marks[row.fingerprint]
    return list(marks.values())


def add_queues(
    cursor: CursorWrapper, run_id: int, candidates: Sequence[Candidate], *, numbers: Sequence[int]
) -> None:
    """Create the missing hosts and queues of all these URLs. The caller holds the run's lock."""
    _queue_ids(cursor, run_id, candidates, numbers)


def _queue_ids(
    cursor: CursorWrapper,
    run_id: int,
    candidates: Sequence[Candidate],
    numbers: Sequence[int],
) -> dict[str, int]:
    """Ids of the host queues. Missing queues are created.

    Names are inserted in sorted order, so that two runs never wait for each other.
    """
    names = {candidate.address.host_key: candidate.address.hostname for candidate in candidates}
    cursor.execute(FIND_QUEUES, [run_id, list(names)])
    found: dict[str, int] = dict(cursor.fetchall())
    missing = sorted(names.keys() - found.keys())
    if missing:
        add_hosts(cursor, missing)
        placed = place_hosts(missing, numbers, host_counts(run_id, numbers))
        new = [
            NewQueue(name, number, domain_of(names[name]))
            for name, number in zip(missing, placed, strict=True)
        ]
        cursor.execute(ADD_QUEUES, NEW_QUEUES.values(new, run=run_id))
        cursor.execute(FIND_QUEUES, [run_id, missing])
        found.update(cursor.fetchall())
    return found


@dataclass(kw_only=True)
class _Scheduler:
    cursor: CursorWrapper
    run_id: int
    ranking: Ranking
    queues: Mapping[str, int]
    state: UrlState
    gains: Mapping[str, float]
    links: Counter[str]
    #: new URLs by queue
    added: Counter[int] = field(default_factory=Counter)
    #: URLs that the run already had
    known: set[str] = field(default_factory=set)
    #: URLs that have received gains from links
    receivers: set[str] = field(default_factory=set)

    def add_all(self, candidates: list[tuple[int, Candidate]]) -> None:
        """Insert the new candidates, and add the links to the rows of the others."""
        known: list[Rediscovery] = []
        left = candidates
        while left:
            left, met = self._insert_candidates(left)
            known += met
        self.receivers |= update_known_urls(
            self.cursor, self.run_id, self.ranking, known, self.gains
        )
        self.known.update(row.candidate.address.url for row in known)

    def count_added(self) -> None:
        if self.state == UrlState.QUEUED:
            added = starmap(QueueCount, self.added.items())
            self.cursor.execute(COUNT_ADDED, ADDED.values(added))

    def scheduled(self) -> Scheduled:
        unspent = {url: gain for url, gain in self.gains.items() if url not in self.receivers}
        return Scheduled(self.added.total(), self.known, unspent)

    def _insert_candidates(
        self, candidates: list[tuple[int, Candidate]]
    ) -> tuple[list[tuple[int, Candidate]], list[Rediscovery]]:
        """Insert the candidates whose fingerprint is free. Return the candidates that must try the
        next fingerprint, and the known ones.

        If two candidates have one fingerprint, only the first is inserted; the other then finds it
        like any stored row. So every URL tries the same fingerprints in order, from its own to the
        first free one, and finds itself among them if it was stored before.
        """
        rows = (
            self._find_seen([mark for mark, _ in candidates]) if self.ranking.counts_links else {}
        )
        new: dict[int, Candidate] = {}
        for mark, candidate in candidates:
            if mark not in rows:
                new.setdefault(mark, candidate)
        inserted = self._insert_new(new)
        refused = [
            (mark, candidate)
            for mark, candidate in candidates
            if mark not in inserted or new[mark] is not candidate
        ]
        rows |= self._find_seen([mark for mark, _ in refused if mark not in rows])
        left, met = [], []
        for mark, candidate in refused:
            row = rows[mark]
            if row.url == candidate.address.url:
                met.append(Rediscovery(mark, candidate, row.depth, row.state))
            else:
                left.append((_next_fingerprint(mark), candidate))
        return left, met

    def _find_seen(self, marks: list[int]) -> dict[int, SeenUrl]:
        """The URLs of the fingerprints that are taken.

        They are read before the insertion if this run is given every link, since most URLs are
        known then. Otherwise most are new, and the insertion shows the known ones.
        """
        if not marks:
            return {}
        self.cursor.execute(FIND_SEEN, [self.run_id, marks])
        return {row.fingerprint: row for row in read_rows(self.cursor, SeenUrl)}

    def _insert_new(self, new: dict[int, Candidate]) -> set[int]:
        """Insert the candidates whose fingerprints are free, and return these fingerprints."""
        if not new:
            return set()
        rows = [self._row_of_candidate(mark, candidate) for mark, candidate in new.items()]
        values = NEW_URLS.values(rows, run=self.run_id, state=self.state.value)
        self.cursor.execute(ADD_URLS, values)
        inserted = {mark: queue for queue, mark in self.cursor.fetchall()}
        self.added.update(inserted.values())
        if self.gains:
            self.receivers.update(new[mark].address.url for mark in inserted)
        return set(inserted)

    def _row_of_candidate(self, mark: int, candidate: Candidate) -> NewUrl:
        url, depth, via = candidate.address.url, candidate.depth, candidate.via
        gained = self.gains.get(url, self.ranking.endowment if via is None else 0.0)
        trap = candidate.trap
        # by position, since this is called for every link: keywords take twice as long
        return NewUrl(
            self.queues[candidate.address.host_key],
            mark,
            url,
            depth,
            self.ranking.rank(url, depth, gained),
            via,
            candidate.redirects,
            trap.key if trap else candidate.pattern,
            self.links[url],
            candidate.hops,
            candidate.nesting,
        )


def _next_fingerprint(mark: int) -> int:
    return signed_64_bits((mark + 1) % (1 << 64))
