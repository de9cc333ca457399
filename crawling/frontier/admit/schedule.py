"""Let new URLs into a run's frontier: each once, exactly (SEEDS W11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, starmap
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.admit.credits import ranking_of
from crawling.frontier.admit.rediscovery import Rediscovery, update_known_urls
from crawling.frontier.bulk_insert import add_hosts
from crawling.frontier.host_placement import loads_of
from crawling.frontier.rules.hosts import place_each
from crawling.frontier.run_counts import QueueCount
from crawling.frontier.sql_rows import SentRows, read_rows
from crawling.frontier.types import Candidate
from crawling.models import Run, UrlState
from crawling.orders.ranking import Ranking
from crawling.web.addresses import fingerprint, signed
from crawling.web.public_suffixes import domain_of

#: URLs that a statement inserts or looks for. The server waits for the next statement while its
#: rows are made, under the run's lock, and other threads of the shift may have the interpreter
MOST_ROWS = 2_000


class NewQueue(NamedTuple):
    """A host, and the number of the process that it is placed on."""

    name: str
    number: int
    domain: str


NEW_QUEUES = SentRows("new", NewQueue)
#: in the order in which they are placed, so that a later placement by their ids has the same result
ADD_QUEUES = f"""
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, domain)
SELECT %(run)s, h.id, new.number, new.domain
FROM {NEW_QUEUES.in_order} JOIN crawling_host h ON h.name = new.name
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
#: ids follow the order of the rows, and the order of ids is the order of visits among equals
ADD_URLS = f"""
INSERT INTO crawling_url (run_id, state, {NEW_URLS.names})
SELECT %(run)s, %(state)s, {NEW_URLS.columns} FROM {NEW_URLS.in_order}
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


def schedule_urls(
    run: Run,
    candidates: Sequence[Candidate],
    *,
    numbers: Sequence[int],
    state: UrlState = UrlState.QUEUED,
    gains: dict[str, float] | None = None,
    known: set[str] | None = None,
) -> int:
    """Queue what this run has not seen, or keep it in another state; returns how many that were.

    The caller holds the run's lock.

    `numbers` are those of the run's processes, on which hosts are placed. `gains` are what the
    links give, by URL (`crawling.frontier.admit.credits`); afterwards it contains what reached no
    URL, and `known` the URLs that the run had before.
    """
    if not candidates:
        return 0
    with connection.cursor() as cursor:
        queues = _queues(cursor, run.pk, candidates, numbers)
        scheduler = _Scheduler(
            cursor,
            run.pk,
            ranking_of(run),
            queues,
            state,
            {} if gains is None else gains,
            count_links(candidates),
        )
        once = iter(_once(candidates).items())
        while some := list(islice(once, MOST_ROWS)):
            met = scheduler.add_all([(fingerprint(url), candidate) for url, candidate in some])
            update_known_urls(cursor, run.pk, scheduler.ranking, met, scheduler.gains)
            if known is not None:
                known.update(found_again.candidate.address.url for found_again in met)
        if state == UrlState.QUEUED:
            added = starmap(QueueCount, scheduler.added.items())
            cursor.execute(COUNT_ADDED, ADDED.values(added))
    return scheduler.added.total()


def count_links(candidates: Iterable[Candidate]) -> Counter[str]:
    """How many links of pages lead to each URL."""
    return Counter(one.address.url for one in candidates if one.is_link and one.via is not None)


def _once(candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    """Each URL once, in the place where it was found first, by the shortest way to it."""
    once: dict[str, Candidate] = {}
    for candidate in candidates:
        if candidate.depth < once.setdefault(candidate.address.url, candidate).depth:
            once[candidate.address.url] = candidate
    return once


def unseen(run_id: int, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that are new to the run.

    Of two URLs with one fingerprint the later counts as known, which is right but for once in 10^19
    pairs.
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
    """Make the missing hosts and queues of all these. The caller holds the run's lock."""
    _queues(cursor, run_id, candidates, numbers)


def _queues(
    cursor: CursorWrapper,
    run_id: int,
    candidates: Sequence[Candidate],
    numbers: Sequence[int],
) -> dict[str, int]:
    """Ids of the host queues, made where missing.

    Names go in sorted, so that two runs never wait for each other.
    """
    names = {candidate.address.host_key: candidate.address.hostname for candidate in candidates}
    cursor.execute(FIND_QUEUES, [run_id, list(names)])
    found: dict[str, int] = dict(cursor.fetchall())
    missing = sorted(names.keys() - found.keys())
    if missing:
        add_hosts(cursor, missing)
        placed = place_each(missing, numbers, loads_of(run_id, numbers))
        new = [
            NewQueue(name, number, domain_of(names[name]))
            for name, number in zip(missing, placed, strict=True)
        ]
        cursor.execute(ADD_QUEUES, NEW_QUEUES.values(new, run=run_id))
        cursor.execute(FIND_QUEUES, [run_id, missing])
        found.update(cursor.fetchall())
    return found


@dataclass
class _Scheduler:
    """One call of `schedule_urls`."""

    cursor: CursorWrapper
    run_id: int
    ranking: Ranking
    queues: dict[str, int]
    state: UrlState
    gains: dict[str, float]
    links: Counter[str]
    #: new URLs by queue
    added: Counter[int] = field(default_factory=Counter)

    def add_all(self, candidates: list[tuple[int, Candidate]]) -> list[Rediscovery]:
        """Insert those that are new, and count them by queue; returns those that were known."""
        met: list[Rediscovery] = []
        left = candidates
        while left:
            left = self._add(left, met)
        return met

    def _add(
        self, candidates: list[tuple[int, Candidate]], met: list[Rediscovery]
    ) -> list[tuple[int, Candidate]]:
        """Insert those whose fingerprint is free, and return those that must try the next one.

        Of two with one fingerprint only the first is inserted; the other then meets it like one of
        long ago. So every URL walks the same way from its own fingerprint to the first free one,
        and finds itself on that way if it has been here before.
        """
        rows = self._find([mark for mark, _ in candidates]) if self.ranking.counts_links else {}
        new: dict[int, Candidate] = {}
        for mark, candidate in candidates:
            if mark not in rows:
                new.setdefault(mark, candidate)
        inserted = self._insert(new)
        refused = [
            (mark, candidate)
            for mark, candidate in candidates
            if mark not in inserted or new[mark] is not candidate
        ]
        rows |= self._find([mark for mark, _ in refused if mark not in rows])
        left = []
        for mark, candidate in refused:
            row = rows[mark]
            if row.url == candidate.address.url:
                met.append(Rediscovery(mark, candidate, row.depth, row.state))
            else:
                left.append((_next(mark), candidate))
        return left

    def _find(self, marks: list[int]) -> dict[int, SeenUrl]:
        """The URLs of those fingerprints that are taken.

        Read before inserting where all links come here, since most are known then; otherwise most
        are new, and the insertion shows the rest.
        """
        if not marks:
            return {}
        self.cursor.execute(FIND_SEEN, [self.run_id, marks])
        return {row.fingerprint: row for row in read_rows(self.cursor, SeenUrl)}

    def _insert(self, new: dict[int, Candidate]) -> set[int]:
        """Insert those whose fingerprints are free, and return these."""
        if not new:
            return set()
        rows = [self._row(mark, candidate) for mark, candidate in new.items()]
        values = NEW_URLS.values(rows, run=self.run_id, state=self.state.value)
        self.cursor.execute(ADD_URLS, values)
        inserted = {mark: queue for queue, mark in self.cursor.fetchall()}
        self.added.update(inserted.values())
        for mark in inserted:
            self.gains.pop(new[mark].address.url, None)
        return set(inserted)

    def _row(self, mark: int, candidate: Candidate) -> NewUrl:
        url, depth, via = candidate.address.url, candidate.depth, candidate.via
        gained = self.gains.get(url, self.ranking.endowment if via is None else 0.0)
        trap = candidate.trap
        return NewUrl(
            queue_id=self.queues[candidate.address.host_key],
            fingerprint=mark,
            url=url,
            depth=depth,
            rank=self.ranking.rank(url, depth, gained),
            via=via,
            redirects=candidate.redirects,
            pattern=trap.key if trap else candidate.pattern,
            backlinks=self.links[url],
            hops=candidate.hops,
            nesting=candidate.nesting,
        )


def _next(mark: int) -> int:
    return signed((mark + 1) % (1 << 64))
