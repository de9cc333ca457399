"""Let new URLs into a run's frontier: each once, exactly (SEEDS W11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.hosts import add_hosts
from crawling.models import Run, UrlState
from crawling.rules.addresses import Address, fingerprint, signed
from crawling.rules.placing import place
from crawling.rules.ranking import Order, rank_of
from crawling.rules.traps import Pattern

ADD_QUEUES = """
INSERT INTO crawling_hostqueue (run_id, host_id, process_number)
SELECT %(run)s, h.id, new.number
FROM unnest(%(names)s::text[], %(numbers)s::int[]) AS new(name, number) JOIN crawling_host h ON h.name = new.name
ON CONFLICT (run_id, host_id) DO NOTHING
"""

FIND_QUEUES = """
SELECT h.name, q.id FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id WHERE q.run_id = %s AND h.name = ANY(%s)
"""

#: ids follow the order of the arrays, and the order of ids is the order of visits among equals
ADD_URLS = """
INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, via, redirects, pattern, state)
SELECT %(run)s, new.queue_id, new.fingerprint, new.url, new.depth, new.rank, new.via, new.redirects, new.pattern, %(state)s
FROM unnest(%(queues)s::bigint[], %(fingerprints)s::bigint[], %(urls)s::text[], %(depths)s::int[], %(ranks)s::float8[],
            %(vias)s::bigint[], %(redirects)s::int[], %(patterns)s::bigint[])
     WITH ORDINALITY AS new(queue_id, fingerprint, url, depth, rank, via, redirects, pattern, place)
ORDER BY new.place
ON CONFLICT (run_id, fingerprint) DO NOTHING
RETURNING queue_id, fingerprint
"""

COUNT_ADDED = """
UPDATE crawling_hostqueue q SET queued = q.queued + added.n, due_at = least(q.due_at, clock_timestamp())
FROM unnest(%s::bigint[], %s::int[]) AS added(id, n) WHERE q.id = added.id
"""

FIND_SEEN = "SELECT fingerprint, url FROM crawling_url WHERE run_id = %s AND fingerprint = ANY(%s)"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A URL found at `depth` on the page of the URL row `via` (None: a seed), after so many redirects in a row.

    trap: the suspicious pattern that it is quarantined for.
    """

    address: Address
    depth: int
    via: int | None
    redirects: int = 0
    pattern: int | None = None
    trap: Pattern | None = None


def sow(run: Run, candidates: Sequence[Candidate], *, numbers: Sequence[int], state: UrlState = UrlState.QUEUED) -> int:
    """Queue what this run has not seen, or keep it in another state; returns how many that were. The caller holds the run's lock.

    `numbers` are those of the run's processes, on which hosts are placed.
    """
    if not candidates:
        return 0
    with connection.cursor() as cursor:
        queues = _queues(cursor, run.pk, {candidate.address.host_key for candidate in candidates}, numbers)
        added: Counter[int] = Counter()
        once: dict[str, Candidate] = {}
        for candidate in candidates:
            once.setdefault(candidate.address.url, candidate)
        left = [(fingerprint(url), candidate) for url, candidate in once.items()]
        order = Order(run.crawl.visit_order)
        while left:
            left = _add(cursor, run.pk, order, left, queues, added, state)
        if state == UrlState.QUEUED:
            cursor.execute(COUNT_ADDED, [list(added), list(added.values())])
    return added.total()


def _queues(cursor: CursorWrapper, run_id: int, names: set[str], numbers: Sequence[int]) -> dict[str, int]:
    """Ids of the host queues, made where missing. Names go in sorted, so that two runs never wait for each other."""
    cursor.execute(FIND_QUEUES, [run_id, list(names)])
    found: dict[str, int] = dict(cursor.fetchall())
    missing = sorted(names - found.keys())
    if missing:
        add_hosts(cursor, missing)
        cursor.execute(ADD_QUEUES, {"run": run_id, "names": missing, "numbers": [place(name, numbers) for name in missing]})
        cursor.execute(FIND_QUEUES, [run_id, missing])
        found.update(cursor.fetchall())
    return found


def _add(
    cursor: CursorWrapper,
    run_id: int,
    order: Order,
    candidates: list[tuple[int, Candidate]],
    queues: dict[str, int],
    added: Counter[int],
    state: UrlState,
) -> list[tuple[int, Candidate]]:
    """Insert those whose fingerprint is free, count them by queue, and return those that must try the next fingerprint.

    Of two with one fingerprint only the first is inserted; the other then meets it like one of long ago. So every URL walks
    the same way from its own fingerprint to the first free one, and finds itself on that way if it has been here before.
    """
    new: dict[int, Candidate] = {}
    for mark, candidate in candidates:
        new.setdefault(mark, candidate)
    rows = new.values()
    cursor.execute(
        ADD_URLS,
        {
            "run": run_id,
            "queues": [queues[row.address.host_key] for row in rows],
            "fingerprints": list(new),
            "urls": [row.address.url for row in rows],
            "depths": [row.depth for row in rows],
            "ranks": [rank_of(order, row.depth) for row in rows],
            "vias": [row.via for row in rows],
            "redirects": [row.redirects for row in rows],
            "patterns": [row.trap.key if row.trap else row.pattern for row in rows],
            "state": state.value,
        },
    )
    inserted = {mark: queue for queue, mark in cursor.fetchall()}
    added.update(inserted.values())
    refused = [(mark, candidate) for mark, candidate in candidates if mark not in inserted or new[mark] is not candidate]
    if not refused:
        return []
    cursor.execute(FIND_SEEN, [run_id, [mark for mark, _ in refused]])
    urls: dict[int, str] = dict(cursor.fetchall())
    return [(_next(mark), candidate) for mark, candidate in refused if urls[mark] != candidate.address.url]


def _next(mark: int) -> int:
    return signed((mark + 1) % (1 << 64))
