"""A run's DNS requests, for a replay under other caches."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from crawling.models import Run
from dnscache.models import DnsEntry
from dnscache.protocol.answers import DnsStatus
from dnscache.replay import KnownLookup, ReplayFigures, replay

MOST_ACCESSES = 50_000
#: the assumed cost of a name that is no longer in the cache
UNKNOWN = KnownLookup(seconds=0.05, ttl=300)

ACCESSES = """
SELECT extract(epoch FROM p.fetched_at)::float8, h.dns_name
FROM crawling_page p JOIN crawling_url u ON u.id = p.url_id
JOIN crawling_hostqueue q ON q.id = u.queue_id JOIN crawling_host h ON h.id = q.host_id
WHERE p.run_id = %s AND h.dns_name <> '' ORDER BY p.fetched_at LIMIT %s
"""
#: one step down the index of pages a run: most runs of a large installation may have no page
RUNS_WITH_PAGES = """
WITH RECURSIVE found AS (
    (SELECT run_id FROM crawling_page ORDER BY run_id DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT run_id FROM crawling_page
             WHERE run_id < found.run_id ORDER BY run_id DESC LIMIT 1)
      FROM found WHERE found.run_id IS NOT NULL
)
SELECT run_id FROM found WHERE run_id IS NOT NULL LIMIT %s
"""


@dataclass(frozen=True)
class Replayed:
    """A run's accesses under each policy."""

    accesses: int
    names: int
    #: names that are no longer in the cache, and count as typical
    forgotten: int
    policies: dict[str, ReplayFigures]


def replayable_runs(most: int) -> list[Run]:
    """The latest so many runs with pages, but those being removed, the latest first."""
    with connection.cursor() as cursor:
        cursor.execute(RUNS_WITH_PAGES, [most])
        ids = [row[0] for row in cursor.fetchall()]
    return list(Run.objects.filter(pk__in=ids).select_related("crawl").order_by("-pk"))


def replayed(run: Run, *, capacity: int) -> Replayed:
    """Replay the first accesses of a run."""
    with connection.cursor() as cursor:
        cursor.execute(ACCESSES, [run.pk, MOST_ACCESSES])
        trace: list[tuple[float, str]] = list(cursor.fetchall())
    names = {name for _, name in trace}
    rows = DnsEntry.objects.filter(name__in=names).values_list(
        "name", "cost_seconds", "ttl", "status"
    )
    found = {name: KnownLookup(cost, ttl, DnsStatus(status)) for name, cost, ttl, status in rows}
    known = {name: found.get(name, UNKNOWN) for name in names}
    return Replayed(
        len(trace), len(names), len(names - found.keys()), replay(trace, known, capacity=capacity)
    )
