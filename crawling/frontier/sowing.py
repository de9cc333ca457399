"""Let new URLs into a run's frontier: each once, exactly (SEEDS W11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.models import Run
from crawling.rules.addresses import Address, fingerprint, signed
from crawling.rules.placing import place

ADD_HOSTS = "INSERT INTO crawling_host (name) SELECT unnest(%s::text[]) ON CONFLICT (name) DO NOTHING"

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
INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, via, state)
SELECT %(run)s, new.queue_id, new.fingerprint, new.url, new.depth, new.rank, new.via, 'q'
FROM unnest(%(queues)s::bigint[], %(fingerprints)s::bigint[], %(urls)s::text[], %(depths)s::int[], %(ranks)s::float8[], %(vias)s::bigint[])
     WITH ORDINALITY AS new(queue_id, fingerprint, url, depth, rank, via, place)
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
    """A URL found at `depth` on the page of the URL row `via` (None: a seed)."""

    address: Address
    depth: int
    via: int | None


def sow(run: Run, candidates: Sequence[Candidate], *, numbers: Sequence[int]) -> int:
    """Queue what this run has not seen; returns how many that were. The caller holds the run's lock.

    `numbers` are those of the run's processes, on which hosts are placed.
    """
    if not candidates:
        return 0
    with connection.cursor() as cursor:
        queues = _queues(cursor, run.pk, {candidate.address.host_key for candidate in candidates}, numbers)
        added: dict[int, int] = {}
        left = _by_fingerprint((fingerprint(candidate.address.url), candidate) for candidate in candidates)
        while left:
            for queue in _add(cursor, run.pk, left, queues):
                added[queue] = added.get(queue, 0) + 1
            left = _collided(cursor, run.pk, left)
        cursor.execute(COUNT_ADDED, [list(added), list(added.values())])
    return sum(added.values())


def _queues(cursor: CursorWrapper, run_id: int, names: set[str], numbers: Sequence[int]) -> dict[str, int]:
    """Ids of the host queues, made where missing. Names go in sorted, so that two runs never wait for each other."""
    cursor.execute(FIND_QUEUES, [run_id, list(names)])
    found: dict[str, int] = dict(cursor.fetchall())
    missing = sorted(names - found.keys())
    if missing:
        cursor.execute(ADD_HOSTS, [missing])
        cursor.execute(ADD_QUEUES, {"run": run_id, "names": missing, "numbers": [place(name, numbers) for name in missing]})
        cursor.execute(FIND_QUEUES, [run_id, missing])
        found.update(cursor.fetchall())
    return found


def _by_fingerprint(pairs: Iterable[tuple[int, Candidate]]) -> dict[int, Candidate]:
    """Keep the first candidate of each URL; two URLs with one fingerprint take neighbouring ones, as in `_collided`."""
    kept: dict[int, Candidate] = {}
    for mark, candidate in pairs:
        free = mark
        while free in kept and kept[free].address.url != candidate.address.url:
            free = _next(free)
        kept.setdefault(free, candidate)
    return kept


def _add(cursor: CursorWrapper, run_id: int, new: dict[int, Candidate], queues: dict[str, int]) -> list[int]:
    rows = list(new.values())
    cursor.execute(
        ADD_URLS,
        {
            "run": run_id,
            "queues": [queues[row.address.host_key] for row in rows],
            "fingerprints": list(new),
            "urls": [row.address.url for row in rows],
            "depths": [row.depth for row in rows],
            "ranks": [float(row.depth) for row in rows],
            "vias": [row.via for row in rows],
        },
    )
    inserted = cursor.fetchall()
    for _, mark in inserted:
        del new[mark]
    return [queue for queue, _ in inserted]


def _collided(cursor: CursorWrapper, run_id: int, refused: dict[int, Candidate]) -> dict[int, Candidate]:
    """Those of the refused whose fingerprint belongs to another URL, under the next fingerprint."""
    if not refused:
        return {}
    cursor.execute(FIND_SEEN, [run_id, list(refused)])
    strangers = [mark for mark, url in cursor.fetchall() if refused[mark].address.url != url]
    return _by_fingerprint((_next(mark), refused[mark]) for mark in strangers)


def _next(mark: int) -> int:
    return signed((mark + 1) % (1 << 64))
