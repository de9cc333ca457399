"""Hand hosts and their URLs to a shift, and take them back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from crawling.frontier.freeing import FREE_AT
from crawling.frontier.limits import pages_left
from crawling.frontier.locking import locked_run
from crawling.frontier.names import PASSES_GATE, gate_is_wanted
from crawling.models import Run, Shift

#: hosts are leased ahead of their time, but never while another may still renew its lease, and never twice by the same shift
UNLEASED = "(h.shift_id IS NULL OR h.lease_until <= clock_timestamp() AND h.shift_id <> %(shift)s)"

LEASE_HOSTS = f"""
WITH due AS (
    SELECT h.id AS host_id, q.id AS queue_id, greatest(q.due_at, {FREE_AT}) AS free_at
    FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
    WHERE q.run_id = %(run)s AND q.process_number = %(number)s AND q.queued > 0 AND h.id <> ALL(%(avoid)s::bigint[])
      AND {UNLEASED} AND greatest(q.due_at, {FREE_AT}) <= clock_timestamp() + make_interval(secs => %(soon)s)
      AND {PASSES_GATE}
    ORDER BY 3, 2 LIMIT %(limit)s
    FOR NO KEY UPDATE OF h SKIP LOCKED
)
UPDATE crawling_host h
SET shift_id = %(shift)s, lease_until = clock_timestamp() + make_interval(secs => %(lease)s),
    delay_seconds = greatest(h.delay_seconds, %(delay)s)
FROM due WHERE h.id = due.host_id
RETURNING due.queue_id, h.id, h.name, greatest(0, extract(epoch FROM due.free_at - clock_timestamp()))::float8
"""  # noqa: S608  # constants

#: a suspect is claimed alone: should its shift be lost again, no other suspect shares the blame
CLAIM_URLS = """
WITH picked AS (
    SELECT u.id, u.losses FROM unnest(%(queues)s::bigint[], %(limits)s::int[]) AS wanted(queue_id, n)
    CROSS JOIN LATERAL (
        SELECT id, losses FROM crawling_url
        WHERE queue_id = wanted.queue_id AND state = 'q' AND (due_at IS NULL OR due_at <= clock_timestamp())
        ORDER BY rank, id LIMIT wanted.n
    ) u
), kept AS (
    SELECT id FROM picked WHERE losses = 0
    UNION ALL (
        SELECT id FROM picked
        WHERE losses > 0 AND NOT EXISTS (SELECT FROM crawling_url WHERE shift_id = %(shift)s AND state = 'p' AND losses > 0)
        ORDER BY id LIMIT 1
    )
)
UPDATE crawling_url u SET state = 'p', shift_id = %(shift)s, attempts = u.attempts + 1
FROM kept WHERE u.id = kept.id
RETURNING u.queue_id, u.id, u.url, u.depth, u.attempts, u.rank, u.redirects
"""

#: a queue that gave less than it was asked for has nothing more that is due: look again when its next retry is
COUNT_CLAIMED = """
UPDATE crawling_hostqueue q
SET queued = q.queued - taken.n,
    due_at = CASE WHEN taken.n = taken.asked THEN q.due_at ELSE coalesce(
        (SELECT min(u.due_at) FROM crawling_url u WHERE u.queue_id = q.id AND u.state = 'q'),
        q.due_at) END
FROM unnest(%(queues)s::bigint[], %(counts)s::int[], %(asked)s::int[]) AS taken(id, n, asked)
WHERE q.id = taken.id
"""

LET_GO = """
UPDATE crawling_host h
SET shift_id = NULL, lease_until = NULL, delay_seconds = gone.delay,
    due_at = greatest(h.due_at, clock_timestamp() + make_interval(secs => gone.wait))
FROM unnest(%(hosts)s::bigint[], %(waits)s::float8[], %(delays)s::float8[]) AS gone(id, wait, delay)
WHERE h.id = gone.id AND h.shift_id = %(shift)s
"""

#: what is locked is being let go at this moment; waiting for it here, while it waits for others, would be a deadlock
RENEW = """
UPDATE crawling_host SET lease_until = clock_timestamp() + make_interval(secs => %s)
WHERE id IN (SELECT id FROM crawling_host WHERE shift_id = %s FOR NO KEY UPDATE SKIP LOCKED)
"""

FREE_HOSTS = """
UPDATE crawling_host SET shift_id = NULL, lease_until = NULL, due_at = clock_timestamp() + make_interval(secs => delay_seconds)
WHERE shift_id = %s
"""


@dataclass(frozen=True, slots=True)
class LeasedHost:
    """A host that this shift alone may fetch from, after `wait_seconds`."""

    queue_id: int
    host_id: int
    name: str
    wait_seconds: float


@dataclass(frozen=True, slots=True)
class ClaimedUrl:
    """A URL in process; `attempts` counts this try."""

    queue_id: int
    id: int
    url: str
    depth: int
    attempts: int
    rank: float
    redirects: int = 0


def lease_hosts(
    shift: Shift, *, limit: int, soon_seconds: float, delay_seconds: float, lease_seconds: float, avoid: Collection[int] = ()
) -> list[LeasedHost]:
    """Lease up to `limit` of the process's hosts that are free within `soon_seconds`, the longest free first.

    Hosts that another transaction is leasing are passed over, never waited for; so are those of the ids in `avoid`, and
    those that the gate holds back.
    """
    values: dict[str, Any] = {
        "run": shift.process.run_id,
        "number": shift.process.number,
        "limit": limit,
        "soon": soon_seconds,
        "shift": shift.pk,
        "lease": lease_seconds,
        "delay": delay_seconds,
        "avoid": list(avoid),
        "gate": gate_is_wanted(),
    }
    with connection.cursor() as cursor:
        cursor.execute(LEASE_HOSTS, values)
        return sorted((LeasedHost(*row) for row in cursor.fetchall()), key=lambda host: (host.wait_seconds, host.queue_id))


def claim_urls(shift: Shift, wanted: Mapping[int, int]) -> dict[int, list[ClaimedUrl]]:
    """Take from each queue (by id) up to so many due URLs, in the run's order; the page limit is never overshot.

    A shift whose books are closed gets none: nobody would give them back.
    """
    with locked_run(shift.process.run_id) as run, connection.cursor() as cursor:
        limits = _within_page_limit(run, wanted)
        if not limits or not Shift.objects.filter(pk=shift.pk, ended_at=None).exists():
            return {}
        cursor.execute(CLAIM_URLS, {"queues": list(limits), "limits": list(limits.values()), "shift": shift.pk})
        claimed: dict[int, list[ClaimedUrl]] = {queue: [] for queue in limits}
        for url in sorted((ClaimedUrl(*row) for row in cursor.fetchall()), key=lambda url: (url.rank, url.id)):
            claimed[url.queue_id].append(url)
        counts = [len(urls) for urls in claimed.values()]
        cursor.execute(COUNT_CLAIMED, {"queues": list(limits), "counts": counts, "asked": list(limits.values())})
    return claimed


def _within_page_limit(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    left = pages_left(run)
    if left is None:
        return dict(wanted)
    queued = dict(run.queues.filter(pk__in=wanted).values_list("pk", "queued"))
    limits: dict[int, int] = {}
    for queue, count in wanted.items():
        if left > 0:  # no queue keeps from the others what it does not have
            limits[queue] = min(count, left, queued[queue])
            left -= limits[queue]
    return limits


def let_go(shift: Shift, hosts: Sequence[tuple[int, float, float]]) -> None:
    """Give hosts back as (host id, seconds until the next fetch may begin, the delay that was kept)."""
    if not hosts:
        return
    ids, waits, delays = (list(column) for column in zip(*hosts, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(LET_GO, {"hosts": ids, "waits": waits, "delays": delays, "shift": shift.pk})


def renew_hosts(shift_id: int, lease_seconds: float) -> None:
    """Keep the shift's hosts leased for so many seconds more."""
    with connection.cursor() as cursor:
        cursor.execute(RENEW, [lease_seconds, shift_id])


def free_hosts(shift_id: int) -> None:
    """Take all hosts from a shift that is known to be dead; each is free after one delay."""
    with connection.cursor() as cursor:
        cursor.execute(FREE_HOSTS, [shift_id])
