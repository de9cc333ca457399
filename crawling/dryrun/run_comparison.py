"""Two runs of a crawl compared: pages added, removed and changed, and those whose status
changed; in all, by host, and one by one.

Pages are the same if their URLs are. A URL that is in a run and was not answered there counts as
not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from django.core.cache import cache
from pydantic import TypeAdapter

from crawling.errors import CrawlError
from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.timed import time_limit
from serving.paging import cut

#: comparing reads both runs whole; one that takes longer is broken off rather than left to keep the
#: server busy
MOST_SECONDS = 20
HOSTS = 50
REMEMBERED_SECONDS = 3600
KINDS = ("added", "removed", "changed", "status_changed")

#: Same content: the digest where both have one; else the fingerprint. A redirect has its target for
#: content. Only what that needs is read of every page: with all columns, two runs of 100,000 pages
#: take four times as long. That a URL is of its page's run is said, too, or else the database reads
#: those of all runs.
#: A 304 confirms an earlier page, whose status was 200 and whose digest stands in its row.
SIDE = """
    SELECT u.fingerprint AS key, u.url, u.queue_id, p.url_id, p.digest, p.fingerprint,
        nullif(p.final_url, u.url) AS target,
        CASE WHEN p.unchanged_since IS NULL THEN p.status ELSE 200 END AS status
    FROM crawling_page p JOIN crawling_url u ON u.id = p.url_id
"""
PAIRS = f"""
    SELECT old.url_id AS old_id, new.url_id AS new_id, coalesce(new.url, old.url) AS url,
        coalesce(new.queue_id, old.queue_id) AS queue_id,
        CASE WHEN old.url_id IS NULL THEN 'added' WHEN new.url_id IS NULL THEN 'removed'
            WHEN old.status <> new.status THEN 'status_changed'
            WHEN coalesce(old.digest <> new.digest, old.fingerprint <> new.fingerprint)
                THEN 'changed'
            WHEN old.target IS DISTINCT FROM new.target THEN 'changed'
            ELSE 'unchanged' END AS kind
    FROM ({SIDE} WHERE p.run_id = %(old)s AND u.run_id = %(old)s) old
    FULL JOIN ({SIDE} WHERE p.run_id = %(new)s AND u.run_id = %(new)s) new ON old.key = new.key
        AND old.url = new.url
"""  # noqa: S608  # constants
SUMMARY = f"""
SELECT h.name, kind, sum(n)::bigint
FROM (SELECT queue_id, kind, count(*) AS n FROM ({PAIRS}) pairs GROUP BY 1, 2) counts
JOIN crawling_hostqueue q ON q.id = counts.queue_id JOIN crawling_host h ON h.id = q.host_id
GROUP BY 1, 2
"""  # noqa: S608  # constants
ROWS = f"""
SELECT kind, found.url, old_id, new_id, old.status, new.status, old.title, new.title, old.bytes,
    new.bytes FROM (
    SELECT * FROM ({PAIRS}) pairs
    WHERE kind = ANY(%(kinds)s) AND (%(host)s = '' OR queue_id IN (
        SELECT q.id FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
        WHERE q.run_id IN (%(old)s, %(new)s) AND h.name = %(host)s))
        AND url > %(after)s
    ORDER BY url LIMIT %(limit)s
) found LEFT JOIN crawling_page old ON old.url_id = old_id LEFT
    JOIN crawling_page new ON new.url_id = new_id
ORDER BY found.url
"""  # noqa: S608  # constants


class ComparingTookTooLong(CrawlError):
    """The runs are so large that comparing them was broken off after 20 seconds; try again when the
    machine has less to do.
    """


@dataclass(frozen=True)
class ChangeTotals:
    """Pages of two runs by what became of them."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    status_changed: int = 0
    #: in both, with the same status and content
    unchanged: int = 0

    @property
    def different(self) -> int:
        return self.added + self.removed + self.changed + self.status_changed


@dataclass(frozen=True)
class HostCounts:
    """The same of one host."""

    host: str
    counts: ChangeTotals


@dataclass(frozen=True)
class ComparisonSummary:
    """All pages, and the hosts where most is different first."""

    counts: ChangeTotals
    hosts: Sequence[HostCounts]
    #: how many hosts are not in the list
    more_hosts: int


SUMMARIES = TypeAdapter(ComparisonSummary)


@dataclass(frozen=True)
class PageDifference:
    """A page that is not the same in both runs."""

    kind: str
    url: str
    #: id of its URL in the old run; None where it is not there
    old_id: int | None
    #: id of its URL in the new run; None where it is not there
    new_id: int | None
    old_status: int | None
    new_status: int | None
    old_title: str | None
    new_title: str | None
    old_bytes: int | None
    new_bytes: int | None


DIFFERENCES = TypeAdapter(list[PageDifference])
Kept = TypeVar("Kept")


def summary_of(old: Run, new: Run) -> ComparisonSummary:
    """Count what is different between two runs; of runs that have ended this is remembered.

    Raises ComparingTookTooLong.
    """
    if old == new:
        return ComparisonSummary(
            ChangeTotals(unchanged=Page.objects.filter(run=new).count()), [], 0
        )
    return _remembered(SUMMARIES, (old, new), "", lambda: _count(old, new))


def _remembered(
    adapter: TypeAdapter[Kept], runs: tuple[Run, Run], wanted: str, find: Callable[[], Kept]
) -> Kept:
    """What is found, or was found before of these runs, if both have ended.

    A run that goes on after its end, since failures are tried again, ends at another moment.
    """
    if any(run.state not in ENDED_STATES for run in runs):
        return find()
    told = [*(f"{run.pk} {run.finished_at}" for run in runs), wanted]
    name = f"changes-{sha256(json.dumps(told).encode()).hexdigest()}"
    if (remembered := cache.get(name)) is not None:
        return adapter.validate_python(remembered)
    found = find()
    cache.set(name, adapter.dump_python(found), REMEMBERED_SECONDS)
    return found


def _count(old: Run, new: Run) -> ComparisonSummary:
    by_host: dict[str, dict[str, int]] = {}
    for host, kind, count in _ask(SUMMARY, {"old": old.pk, "new": new.pk}):
        by_host.setdefault(host, {})[kind] = count
    hosts = [HostCounts(host, ChangeTotals(**kinds)) for host, kinds in by_host.items()]
    hosts.sort(key=lambda one: (-one.counts.different, one.host))
    total = ChangeTotals(
        **{kind: sum(getattr(one.counts, kind) for one in hosts) for kind in (*KINDS, "unchanged")}
    )
    return ComparisonSummary(total, hosts[:HOSTS], max(0, len(hosts) - HOSTS))


def differences(
    old: Run, new: Run, *, kind: str = "", host: str = "", after: str = "", limit: int
) -> tuple[list[PageDifference], str | None]:
    """A page of differences of a kind (all kinds if empty) by address, and the address to go on
    after; of runs that have ended this is remembered. Raises ComparingTookTooLong.
    """
    if old == new:
        return [], None
    wanted = {
        "kinds": [kind] if kind else list(KINDS),
        "host": host,
        "after": after,
        "limit": limit + 1,
    }

    def find() -> list[PageDifference]:
        return [
            PageDifference(*row) for row in _ask(ROWS, {"old": old.pk, "new": new.pk, **wanted})
        ]

    rows = _remembered(DIFFERENCES, (old, new), json.dumps(wanted), find)
    return cut(rows, limit, lambda row: row.url)


def _ask(query: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
    with time_limit(MOST_SECONDS, ComparingTookTooLong) as cursor:
        cursor.execute("SET LOCAL work_mem = '64MB'")
        # whatever PostgreSQL has a type for
        cursor.execute(query, values)  # type: ignore[arg-type]
        return list(cursor.fetchall())
