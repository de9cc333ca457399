"""Rows of a run that several parts of its page need, each read once. Also the run's numbers besides
its counts, all read by one query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import F

from crawling.dashboard.run.moved_seeds import may_have_moved_seeds
from crawling.frontier import RunCounts, counts_of
from crawling.models import Run, RunProcess, Shift
from crawling.orders.scope.trap_patterns import ONE_TEXT
from crawling.runs.wait_reason import NextHostQueue, next_host_queues
from serving.paging import MOST_NUMBERED, as_bounded

#: the number of shifts that are listed
SOME = 10
#: the most copies whose sizes are added up, since the page of a crawl is requested every two
#: seconds
MOST_COPIES = 20_000
#: Each count uses a partial index and does not read every queue; there may be 100,000. A blocked
#: host has no waiting URLs. Large numbers are counted only as far as they are shown. The bound for
#: waiting hosts is raised by the number of leased and blocked hosts, which do not count.
NUMBERS = """
WITH leased AS MATERIALIZED (
    SELECT h.id FROM crawling_host h JOIN crawling_shift s ON s.id = h.shift_id
    JOIN crawling_runprocess p ON p.id = s.process_id
    WHERE s.ended_at IS NULL AND p.run_id = %(run)s
), blocked AS MATERIALIZED (
    SELECT h.id FROM crawling_host h WHERE h.name IN (
        SELECT text FROM crawling_blocklistentry WHERE kind = 'host' AND removed_at IS NULL)
), ours AS MATERIALIZED (
    SELECT q.queued > 0 AND q.host_id NOT IN (SELECT id FROM blocked) AS is_waiting
    FROM crawling_hostqueue q
    WHERE q.run_id = %(run)s AND q.host_id IN (SELECT id FROM leased)
), kept_out AS MATERIALIZED (
    SELECT q.queued > 0 AS is_waiting FROM crawling_hostqueue q
    WHERE q.run_id = %(run)s AND q.host_id IN (SELECT id FROM blocked)
), busy AS MATERIALIZED (
    SELECT FROM ours WHERE is_waiting UNION ALL SELECT FROM kept_out WHERE is_waiting
), copies AS MATERIALIZED (
    SELECT bytes FROM crawling_page
    WHERE run_id = %(run)s AND duplicate_of IS NOT NULL LIMIT %(copies)s
)
SELECT
    (SELECT count(*) FROM (
        SELECT FROM crawling_hostqueue WHERE run_id = %(run)s LIMIT %(hosts)s) AS every),
    (SELECT count(*) FROM ours),
    (SELECT count(*) FROM (
        SELECT FROM crawling_hostqueue WHERE run_id = %(run)s AND queued > 0
        LIMIT %(hosts)s + (SELECT count(*) FROM busy)) AS waiting)
    - (SELECT count(*) FROM busy),
    (SELECT count(*) FROM kept_out),
    (SELECT count(*) FROM copies),
    (SELECT coalesce(sum(bytes), 0) FROM copies)::bigint,
    (SELECT coalesce(sum(kept + more), 0) FROM crawling_verdictcount
     WHERE run_id = %(run)s)::bigint,
    (SELECT coalesce(json_agg(json_build_array(state, status, urls)), '[]')
     FROM crawling_runstatuscount WHERE run_id = %(run)s AND urls > 0),
    %(seeds)s AND EXISTS (
        SELECT FROM crawling_url WHERE run_id = %(run)s AND depth = 0 AND redirects > 0),
    EXISTS (SELECT FROM crawling_trappattern WHERE run_id = %(run)s AND rule = %(one_text)s)
"""


@dataclass(frozen=True)
class RunRows:
    run: Run
    #: the processes by number, each with its process in the pool, if it has one
    processes: Sequence[RunProcess]
    #: all live shifts, then the latest ones
    shifts: Sequence[Shift]
    counts: RunCounts

    @property
    def live_shifts(self) -> list[Shift]:
        return [shift for shift in self.shifts if shift.ended_at is None]

    @cached_property
    def next_hosts(self) -> list[NextHostQueue]:
        """The host queue that is free first. It is read on the first call."""
        return next_host_queues([self.run.pk])


def live_shifts(run: Run) -> list[Shift]:
    return list(Shift.objects.filter(process__run=run, ended_at=None).select_related("process"))


def rows_of(run: Run) -> RunRows:
    """The rows of a run, in three queries."""
    processes = list(run.processes.select_related("bank_process__pool").order_by("number"))
    shifts = Shift.objects.filter(process__run=run).select_related("process")
    latest = shifts.order_by(F("ended_at").desc(nulls_first=True), "-pk")
    some = list(latest[: max(SOME, len(processes))])
    return RunRows(run, processes, some, counts_of([run.pk])[run.pk])


@dataclass(frozen=True)
class HostNumbers:
    """Counts of a run's hosts: those leased to it now, those with waiting URLs, and those blocked
    for all crawls. A very large count is a BoundedCount.
    """

    every: int
    active: int
    waiting: int
    blocked: int


@dataclass(frozen=True)
class ContentCopies:
    """Pages of a run with the same content as another page."""

    pages: int
    #: the total size of the first MOST_COPIES copies
    bytes: int

    @property
    def are_more(self) -> bool:
        return self.pages >= MOST_COPIES


@dataclass(frozen=True)
class RunNumbers:
    hosts: HostNumbers
    copies: ContentCopies
    #: the number of links that a rule excludes; no count of URLs includes them, since they are not
    #: in the frontier
    out_of_scope: int
    #: state, status and number of URLs
    statuses: Sequence[tuple[str, int, int]]
    #: whether there may be seeds that redirect to another site
    has_moved_seeds: bool
    #: whether there may be sites on which pages repeat the text of others
    has_sites_of_one_text: bool


def numbers_of(run: Run) -> RunNumbers:
    values: dict[str, Any] = {"run": run.pk, "copies": MOST_COPIES, "hosts": MOST_NUMBERED + 1}
    with connection.cursor() as cursor:
        seeds = may_have_moved_seeds(run.crawl)
        cursor.execute(NUMBERS, values | {"one_text": ONE_TEXT, "seeds": seeds})
        *hosts, pages, size, out_of_scope, statuses, moved, alike = cursor.fetchone()
    return RunNumbers(
        HostNumbers(*map(as_bounded, hosts)),
        ContentCopies(pages, size),
        out_of_scope,
        [tuple(row) for row in statuses],
        has_moved_seeds=moved,
        has_sites_of_one_text=alike,
    )
