"""Lease hosts and their URLs to a shift."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple

from django.db import connection

from crawling.frontier.rules.hosts import NOTHING_SPENT, RequestsSpent
from crawling.frontier.rules.poison_suspects import ALONE_FROM, SUSPECTS_AT_ONCE
from crawling.frontier.run_limits import (
    QueueUse,
    claimable_urls,
    close_exhausted_queues,
    has_host_limits,
    pages_left,
    queue_uses,
)
from crawling.frontier.run_lock import locked_run
from crawling.frontier.sql_rows import SentRows, read_rows
from crawling.frontier.waiting_names import FREE_AT, PASSES_GATE, is_gate_enabled
from crawling.models import Run, Shift, UrlState
from crawling.web.outages import Outage, read_outage, read_outages

#: hosts are leased before they are due, but never while another shift may still renew its lease,
#: and never twice by the same shift
UNLEASED = "(h.shift_id IS NULL OR h.lease_until <= clock_timestamp() AND h.shift_id <> %(shift)s)"

#: If the order of visits is exact, only the host of the very first URL may be leased. While another
#: crawl has that host, or its delay lasts, no host may be leased. A host that rests for longer, as
#: after a failure, is skipped. The first URL of each host is read.
IS_NEXT = f"""(
    NOT %(exact)s OR q.id = (
        SELECT w.id FROM crawling_hostqueue w
        CROSS JOIN LATERAL (
            SELECT lane, rank, id FROM crawling_url
            WHERE queue_id = w.id AND state = '{UrlState.QUEUED}'
                AND (due_at IS NULL OR due_at <= clock_timestamp())
            ORDER BY lane, rank, id LIMIT 1
        ) u
        WHERE w.run_id = %(run)s AND w.queued > 0
            AND w.due_at <= statement_timestamp() + make_interval(secs => %(soon)s)
        ORDER BY u.lane, u.rank, u.id LIMIT 1)
)"""  # noqa: S608  # a constant

#: read along the index `queues_in_turn` until there are enough hosts, however many the run has
DUE_HOSTS = f"""
    FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
    WHERE q.run_id = %(run)s AND q.process_number = %(number)s AND q.queued > 0
        AND h.id <> ALL(%(avoid)s::bigint[])
      AND q.due_at <= statement_timestamp() + make_interval(secs => %(soon)s)
      AND {UNLEASED} AND {FREE_AT} <= clock_timestamp() + make_interval(secs => %(soon)s)
      AND {PASSES_GATE} AND {IS_NEXT}
    ORDER BY q.due_at, q.id LIMIT %(limit)s
"""

LEASE_HOSTS = f"""
WITH due AS (
    SELECT h.id AS host_id, q.id AS queue_id, greatest(q.due_at, {FREE_AT}) AS free_at,
        q.outage::text AS outage, q.origin_outages::text AS origin_outages
    {DUE_HOSTS}
    FOR NO KEY UPDATE OF h SKIP LOCKED
)
UPDATE crawling_host h
SET shift_id = %(shift)s, lease_until = clock_timestamp() + make_interval(secs => %(lease)s),
    delay_seconds = greatest(h.delay_seconds, %(delay)s)
FROM due WHERE h.id = due.host_id
RETURNING due.queue_id, h.id AS host_id, h.name,
    greatest(0, extract(epoch FROM due.free_at - clock_timestamp()))::float8 AS wait_seconds,
    h.backoffs, h.answered_at IS NOT NULL AS has_answered, due.outage, due.origin_outages,
    h.counted_at, h.requests_in_minute, h.requests_in_day
"""  # noqa: S608  # constants

COUNT_WAITING = f"SELECT count(*) FROM (SELECT {DUE_HOSTS}) AS waiting"  # noqa: S608  # a constant


class ClaimLimit(NamedTuple):
    queue_id: int
    n: int


WANTED = SentRows("wanted", ClaimLimit)
#: Suspects are claimed as `crawling.frontier.rules.poison_suspects` says. One of several losses is
#: claimed alone, so any single URL in process shows whether the shift has such a suspect.
CLAIM_URLS = f"""
WITH picked AS (
    SELECT u.id, u.losses, wanted.queue_id FROM {WANTED}
    CROSS JOIN LATERAL (
        SELECT id, losses FROM crawling_url
        WHERE queue_id = wanted.queue_id AND state = '{UrlState.QUEUED}'
            AND (due_at IS NULL OR due_at <= clock_timestamp())
        ORDER BY lane, rank, id LIMIT wanted.n
    ) u
), hand AS (
    SELECT losses FROM crawling_url WHERE shift_id = %(shift)s AND state = '{UrlState.IN_PROCESS}'
    LIMIT 1
), alone AS (
    SELECT id FROM picked WHERE losses >= {ALONE_FROM} AND NOT EXISTS (SELECT FROM hand) ORDER BY id
    LIMIT 1
), beside AS (
    SELECT id, losses, queue_id FROM picked
    WHERE losses < {ALONE_FROM} AND NOT EXISTS (SELECT FROM alone)
        AND NOT EXISTS (SELECT FROM hand WHERE losses >= {ALONE_FROM})
), suspects AS (
    SELECT queue_id FROM crawling_url
    WHERE shift_id = %(shift)s AND state = '{UrlState.IN_PROCESS}' AND losses > 0
), kept AS (
    SELECT id FROM alone
    UNION ALL
    SELECT id FROM beside WHERE losses = 0
    UNION ALL (
        SELECT id FROM (
            SELECT DISTINCT ON (queue_id) id FROM beside
            WHERE losses > 0 AND queue_id <> ALL(ARRAY(SELECT queue_id FROM suspects))
            ORDER BY queue_id, id
        ) AS one_of_each
        ORDER BY id LIMIT greatest(0, {SUSPECTS_AT_ONCE} - (SELECT count(*) FROM suspects))
    )
)
UPDATE crawling_url u SET state = '{UrlState.IN_PROCESS}', shift_id = %(shift)s,
    attempts = u.attempts + 1
FROM kept WHERE u.id = kept.id
RETURNING u.queue_id, u.id, u.url, u.depth, u.attempts, u.rank, u.redirects, u.hops, u.lane,
    u.nesting, u.pattern
"""  # noqa: S608  # a constant

#: the queues that have URLs
NOT_EMPTY = "SELECT id FROM crawling_hostqueue WHERE id = ANY(%s) AND queued > 0"


class QueueTaken(NamedTuple):
    id: int
    n: int
    asked: int


TAKEN = SentRows("taken", QueueTaken)
#: a queue that gave fewer URLs than wanted has no more due URLs: look again at its next retry, or
#: at once if a suspect was kept back. A queue that gave all wanted URLs has had its turn and comes
#: last
COUNT_CLAIMED = f"""
UPDATE crawling_hostqueue q
SET queued = q.queued - taken.n,
    due_at = greatest(q.retry_at, CASE WHEN taken.n = taken.asked THEN clock_timestamp()
        ELSE coalesce(
        (SELECT min(coalesce(u.due_at, q.due_at)) FROM crawling_url u
            WHERE u.queue_id = q.id AND u.state = '{UrlState.QUEUED}'),
        q.due_at) END)
FROM {TAKEN} WHERE q.id = taken.id
"""  # noqa: S608 - the states are constants

#: locked rows are being released at this moment. Waiting for them here, while their holder waits
#: for others, would be a deadlock
RENEW = """
UPDATE crawling_host SET lease_until = clock_timestamp() + make_interval(secs => %s)
WHERE id IN (SELECT id FROM crawling_host WHERE shift_id = %s FOR NO KEY UPDATE SKIP LOCKED)
"""


@dataclass(frozen=True, slots=True)
class LeasedHost:
    """A host that this shift alone may fetch from."""

    queue_id: int
    host_id: int
    name: str
    #: seconds until a fetch from the host may begin
    wait_seconds: float
    backoffs: int = 0
    #: whether the host has ever answered
    has_answered: bool = False
    #: the outage, if the latest try to fetch from the host failed
    outage: Outage | None = None
    #: outages by origin, if another origin of the host answers
    origin_outages: Mapping[str, Outage] = field(default_factory=dict)
    spent: RequestsSpent = NOTHING_SPENT


@dataclass(frozen=True, slots=True)
class _LeasedRow:
    queue_id: int
    host_id: int
    name: str
    wait_seconds: float
    backoffs: int
    has_answered: bool
    outage: str | None
    origin_outages: str | None
    counted_at: datetime | None
    requests_in_minute: int
    requests_in_day: int

    def host(self) -> LeasedHost:
        return LeasedHost(
            self.queue_id,
            self.host_id,
            self.name,
            self.wait_seconds,
            self.backoffs,
            self.has_answered,
            outage=read_outage(json.loads(self.outage or "null")),
            origin_outages=read_outages(json.loads(self.origin_outages or "null")),
            spent=RequestsSpent(self.counted_at, self.requests_in_minute, self.requests_in_day),
        )


@dataclass(frozen=True, slots=True)
class ClaimedUrl:
    queue_id: int
    id: int
    url: str
    depth: int
    #: the number of tries, with this one
    attempts: int
    rank: float
    redirects: int = 0
    hops: int = 0
    lane: int = 0
    nesting: int = 0
    #: the key of the pattern under which the URL was admitted
    pattern: int | None = None


def lease_hosts(
    shift: Shift,
    *,
    limit: int,
    soon_seconds: float,
    delay_seconds: float,
    lease_seconds: float,
    avoid: Collection[int] = (),
    is_exact: bool = False,
) -> list[LeasedHost]:
    """Lease up to `limit` of the process's hosts that are free within `soon_seconds`, beginning
    with the hosts whose last turn was longest ago.

    Hosts that another transaction is leasing are skipped, never waited for. The hosts in `avoid`,
    by id, are skipped, too, as are hosts that the gate holds back. is_exact: lease only the host of
    the URL that is first in the order of visits.
    """
    due = _due_hosts(shift, limit, soon_seconds, avoid) | {"exact": is_exact}
    with connection.cursor() as cursor:
        cursor.execute(LEASE_HOSTS, {**due, "lease": lease_seconds, "delay": delay_seconds})
        hosts = [row.host() for row in read_rows(cursor, _LeasedRow)]
    return sorted(hosts, key=lambda host: (host.wait_seconds, host.queue_id))


def count_waiting(shift: Shift, *, most: int, avoid: Collection[int] = ()) -> int:
    """The number of the process's hosts that the shift could lease at once, counted up to
    `most`.
    """
    with connection.cursor() as cursor:
        cursor.execute(COUNT_WAITING, _due_hosts(shift, most, 0.0, avoid))
        return int(cursor.fetchone()[0])


def _due_hosts(
    shift: Shift, limit: int, soon_seconds: float, avoid: Collection[int]
) -> dict[str, Any]:
    return {
        "run": shift.process.run_id,
        "number": shift.process.number,
        "limit": limit,
        "soon": soon_seconds,
        "shift": shift.pk,
        "avoid": list(avoid),
        "gate": is_gate_enabled(),
        "exact": False,
    }


def claim_urls(shift: Shift, wanted: Mapping[int, int]) -> dict[int, list[ClaimedUrl]]:
    """Take up to the wanted number of due URLs from each queue, by id, in the run's order. The page
    limit is never exceeded.

    A closed shift gets no URLs, since it would never give them back. If nothing is queued, as at
    the end of each small crawl, the run is not locked.
    """
    wanted = _nonempty_queues(wanted)
    if not wanted:
        return {}
    with locked_run(shift.process.run_id) as run, connection.cursor() as cursor:
        limits = _limit_by_budget(run, wanted)
        if not limits or not Shift.objects.filter(pk=shift.pk, ended_at=None).exists():
            return {}
        asked = starmap(ClaimLimit, limits.items())
        cursor.execute(CLAIM_URLS, WANTED.values(asked, shift=shift.pk))
        claimed: dict[int, list[ClaimedUrl]] = {queue: [] for queue in limits}
        for url in sorted(
            read_rows(cursor, ClaimedUrl),
            key=lambda url: (url.lane, url.rank, url.id),
        ):
            claimed[url.queue_id].append(url)
        taken = [QueueTaken(queue, len(claimed[queue]), n) for queue, n in limits.items()]
        cursor.execute(COUNT_CLAIMED, TAKEN.values(taken))
    return claimed


def _nonempty_queues(wanted: Mapping[int, int]) -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(NOT_EMPTY, [list(wanted)])
        found = {row[0] for row in cursor.fetchall()}
    return {queue: count for queue, count in wanted.items() if queue in found}


def _limit_by_budget(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    """Close the queues that a limit has exhausted. Return the number of URLs that each of the
    others may give.
    """
    left, budget = pages_left(run), run.crawl.order.budget
    if left is None and not has_host_limits(budget):
        return dict(wanted)
    uses = queue_uses(run, wanted)
    if left is not None:
        wanted = _shares_of_queues(left, uses, wanted)
    close_exhausted_queues(run, [uses[queue] for queue in wanted])
    return claimable_urls(budget, uses, wanted)


def _shares_of_queues(
    left: int, uses: Mapping[int, QueueUse], wanted: Mapping[int, int]
) -> dict[int, int]:
    """The share of each queue in the pages that the run may still fetch."""
    limits: dict[int, int] = {}
    for queue, count in wanted.items():
        if left > 0:  # a queue reserves no pages for URLs that it does not have
            limits[queue] = min(count, left, uses[queue].queued)
            left -= limits[queue]
    return limits


def renew_hosts(shift_id: int, lease_seconds: float) -> None:
    """Keep the shift's hosts leased for `lease_seconds` more."""
    with connection.cursor() as cursor:
        cursor.execute(RENEW, [lease_seconds, shift_id])
