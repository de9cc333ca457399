"""The scheduler's work on runs: it starts due crawls, repairs runs after a crash, and counts the
workers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from django.utils import timezone

from allocation.errors import AllocationError
from allocation.services import forget_sent, forget_use, set_capacity
from crawling.archive.files import seal_all, this_machine
from crawling.base.storage import has_bucket
from crawling.frontier.change.rejudgement import rank_next_batch
from crawling.frontier.change.reusable_pages import delete_cold_pages
from crawling.frontier.run_limits import FILES_A_PAGE
from crawling.frontier.waiting_names import (
    FREE_AT,
    FREE_AT_FOR_RETURN,
    HELD_UNTIL,
    is_gate_enabled,
)
from crawling.installation.pools import capacity_of, crawl_pools, default_pool
from crawling.jobs.rq_jobs import live_browsers, live_workers
from crawling.models import ArchiveFile, CrawlJob, Reranking, Run, RunProcess
from crawling.models.jobs import ENDED_IN_SQL, ENDED_STATES, WINDING_DOWN_IN_SQL, WORKING_IN_SQL
from crawling.orders.claims import BROWSER_MEMORY, BROWSER_PAGES
from crawling.runs.grants import SOON_SECONDS, leave_pool, register_processes, request_shift
from crawling.runs.idle_capacity import REFUSED_SECONDS, start_while_idle
from crawling.runs.shift_lifecycle import settle_run

#: Idle processes, found by an index (`allocation.models.bank.IS_IDLE`), and their runs. With an
#: array PostgreSQL looks the runs up one by one; with a join it would expect thousands and read all
#: runs.
IDLE = """
crawling_runprocess p JOIN crawling_run r ON r.id = p.run_id
WHERE p.bank_process_id = ANY(ARRAY(
    SELECT id FROM allocation_process
    WHERE state = 'active' AND lease_until IS NULL AND NOT is_waiting))
"""
HAS_NO_SHIFT = """
NOT EXISTS (SELECT FROM crawling_runprocess own JOIN crawling_shift s ON s.process_id = own.id
            WHERE own.run_id = r.id AND s.ended_at IS NULL)
"""
#: processes of active runs that have a URL due, no shift, and no request to the pool; extra
#: processes are started where they are added (`crawling.runs.process_count`)
DUE = f"""
SELECT p.id FROM {IDLE} AND NOT p.is_extra AND r.state IN {WORKING_IN_SQL}
  AND EXISTS (SELECT FROM crawling_crawljob c
              WHERE c.id = r.crawl_id AND c.idle_only = %(idle_only)s)
  AND EXISTS (SELECT FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
              WHERE q.run_id = r.id AND q.queued > 0
                AND (q.process_number = p.number OR NOT p.serving)
                AND greatest(q.due_at, {HELD_UNTIL},
                             CASE WHEN p.serving THEN {FREE_AT} ELSE {FREE_AT_FOR_RETURN} END)
                    <= clock_timestamp() + make_interval(secs => %(soon)s))
  AND %(after)s < p.id ORDER BY p.id LIMIT %(most)s::bigint
"""  # noqa: S608  # constants
#: runs without a shift that are winding down, have nothing left to fetch, or have reached a limit
UNSETTLED = f"""
SELECT r.id FROM crawling_run r WHERE r.state IN {WINDING_DOWN_IN_SQL} AND {HAS_NO_SHIFT}
UNION
SELECT r.id FROM {IDLE} AND r.state IN {WORKING_IN_SQL} AND {HAS_NO_SHIFT}
  AND NOT EXISTS (SELECT FROM crawling_hostqueue q WHERE q.run_id = r.id AND q.queued > 0)
UNION
SELECT r.id FROM crawling_run r JOIN crawling_crawljob c ON c.id = r.crawl_id
LEFT JOIN crawling_runtotal t ON t.run_id = r.id
WHERE r.state IN {WORKING_IN_SQL} AND r.started_at IS NOT NULL AND {HAS_NO_SHIFT}
  AND (t.fetched - CASE WHEN c.requisites THEN t.files ELSE 0 END >= c.max_pages
       OR (c.requisites AND t.files >= {FILES_A_PAGE}::bigint * c.max_pages)
       OR t.bytes >= c.max_bytes
       OR r.started_at + make_interval(secs => c.max_seconds) <= clock_timestamp())
"""  # noqa: S608  # constants
#: ended runs that are still in the pool
STAYING = f"""
SELECT r.id FROM {IDLE} AND r.state IN {ENDED_IN_SQL}
UNION
SELECT r.id FROM allocation_process b JOIN crawling_runprocess p ON p.bank_process_id = b.id
JOIN crawling_run r ON r.id = p.run_id
WHERE b.lease_until IS NOT NULL AND r.state IN {ENDED_IN_SQL}
"""  # noqa: S608  # constants
#: active runs that were never registered in the pool
UNREGISTERED = f"""
SELECT DISTINCT r.id FROM crawling_runprocess p JOIN crawling_run r ON r.id = p.run_id
WHERE p.bank_process_id IS NULL AND NOT p.is_retired AND r.state IN {WORKING_IN_SQL}
"""  # noqa: S608  # constants
#: active runs with a process that the pool has finished: such a run continued (`retrying`) while
#: its end was still being reported to the pool
LET_GO = f"""
SELECT DISTINCT r.id FROM crawling_run r JOIN crawling_runprocess p ON p.run_id = r.id
JOIN allocation_process b ON b.id = p.bank_process_id
WHERE r.is_latest AND r.state IN {WORKING_IN_SQL} AND b.state = 'finished' AND NOT p.is_retired
"""  # noqa: S608  # constants
T = TypeVar("T")
logger = logging.getLogger(__name__)

#: the time after which a duty with much to do continues in its next turn, since the other duties
#: wait meanwhile
AT_A_TIME_SECONDS = 0.05
#: the most processes that are tried in a turn, since many of them may claim more than is free
IDLE_AT_A_TIME = 100


class Progress(Enum):
    """The result of a duty that may leave work for its next turn."""

    DONE = "nothing is left"
    PENDING = "its next turn is due in its usual rhythm, whether a crawl works or not"
    UNFINISHED = "its next turn is due at once"


def duty_in_slices(do: Callable[[], bool]) -> Callable[[], Progress]:
    """Return a duty that does a slice in each turn and reports whether anything is left. do:
    returns whether nothing is left.
    """

    @wraps(do)
    def do_slice() -> Progress:
        return Progress.DONE if do() else Progress.PENDING

    return do_slice


def start_due_crawls() -> Progress:
    """Ask the pool for the shifts that are due and not requested yet."""
    return do_for_each_run(
        _processes_of_query(DUE),
        lambda pk: request_shift(RunProcess.objects.select_related("run__crawl").get(pk=pk)),
    )


@dataclass
class IdleCapacity:
    """Starts the shifts of crawls that use idle capacity only, in the order of their processes'
    ids.
    """

    #: the process whose start was requested last
    _after: int = 0
    #: by process, the time until which its start is not requested again, since a grant would have
    #: been unsafe; monotonic seconds
    _refused: dict[int, float] = field(default_factory=dict)

    def start_idle_crawls(self) -> None:
        if not CrawlJob.objects.filter(idle_only=True).exists():
            return
        found = self._due_processes() or self._due_processes(anew=True)
        now = time.monotonic()
        self._refused = {pk: until for pk, until in self._refused.items() if until > now}
        processes = RunProcess.objects.select_related("run__crawl").in_bulk(found)
        asked = start_while_idle(processes[pk] for pk in found if pk not in self._refused)
        self._after = asked[-1] if asked else self._after
        refused = RunProcess.objects.filter(pk__in=asked, bank_process__lease_until=None)
        self._refused |= dict.fromkeys(refused.values_list("pk", flat=True), now + REFUSED_SECONDS)

    def _due_processes(self, *, anew: bool = False) -> list[int]:
        after = 0 if anew else self._after
        return _processes_of_query(DUE, idle_only=True, after=after, most=IDLE_AT_A_TIME)


def settle_interrupted_runs() -> Progress:
    """Finish steps that a crash interrupted, so that each run is in the state that its rows
    imply.
    """
    steps: tuple[tuple[str, Callable[[int], object]], ...] = (
        (UNREGISTERED, lambda run_id: register_processes(Run.objects.get(pk=run_id))),
        (UNSETTLED, settle_run),
        (STAYING, lambda run_id: leave_pool(Run.objects.get(pk=run_id))),
    )
    for query, settle in steps:
        if do_for_each_run(_processes_of_query(query), settle) is Progress.UNFINISHED:
            return Progress.UNFINISHED
    if has_bucket():  # the next shift of this machine uploads them: that takes too long here
        return Progress.DONE
    # a shift that is ending may still have held its slot when its run ended
    for run_id in ArchiveFile.objects.filter(
        sealed_at=None, machine=this_machine(), run__state__in=ENDED_STATES
    ).values_list("run", flat=True):
        seal_all(run_id)
    return Progress.DONE


def register_continued_runs() -> Progress:
    """Register those runs again that continued while their end was still being reported to the
    pool.
    """
    return do_for_each_run(
        _processes_of_query(LET_GO), lambda run_id: register_processes(Run.objects.get(pk=run_id))
    )


def do_for_each_run(
    found: Sequence[T], do: Callable[[T], object], *, seconds: float = AT_A_TIME_SECONDS
) -> Progress:
    """Call `do` with each item until `seconds` are over. The next turn finds the remaining items
    again.
    """
    until = time.monotonic() + seconds
    for number, one in enumerate(found, 1):
        do(one)
        if time.monotonic() > until and number < len(found):
            return Progress.UNFINISHED
    return Progress.DONE


def _processes_of_query(
    query: str, *, idle_only: bool = False, after: int = 0, most: int | None = None
) -> list[int]:
    values: dict[str, Any] = {"soon": SOON_SECONDS, "gate": is_gate_enabled()}
    values |= {"idle_only": idle_only, "after": after, "most": most}
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [row[0] for row in cursor.fetchall()]


def continue_reranking() -> Progress:
    """Continue ranking the waiting URLs of runs whose weights were edited."""
    until = time.monotonic() + AT_A_TIME_SECONDS
    for run_id in (
        Reranking.objects.filter(run__removal_asked_at=None)
        .order_by("run")
        .values_list("run", flat=True)
    ):
        while rank_next_batch(run_id):
            if time.monotonic() > until:
                return Progress.UNFINISHED
    return Progress.DONE


def forget_cold_pages() -> None:
    """Delete the counts of pages that crawls no longer request, in the page cache."""
    delete_cold_pages(timezone.now())


def count_workers() -> None:
    """Set the capacity of the classes of workers and their browsers in the default pool to what is
    not used by other pools, so that a grant always finds a worker, and a page a browser.
    """
    if not (workers := live_workers()):
        return
    browsers = live_browsers()
    live = {"worker": workers}
    live |= {BROWSER_PAGES: browsers.pages, BROWSER_MEMORY: browsers.mebibytes}
    pool = default_pool()
    others = [capacity_of(other) for other in crawl_pools().exclude(pk=pool.pk)]
    now = capacity_of(pool)
    for key, units in live.items():
        free = max(0, units - sum(other.get(key, 0) for other in others))
        if now.get(key, free) == free:
            continue
        try:
            set_capacity(pool=pool.pk, capacity={key: free})
        except AllocationError as error:
            logger.debug(
                "the capacity stays for now",
                extra={"resource": key, "units": free, "error": str(error)},
            )


DELIVERED = timedelta(days=1)
#: the messages of one round; they take a fifth of the time for which other duties may wait
MESSAGES_AT_A_TIME = 2_000


def delete_expired_rows() -> Progress:
    """Delete delivered messages, records of resource use and sessions that have expired."""
    deleted = forget_sent(older_than=DELIVERED, limit=MESSAGES_AT_A_TIME)
    forget_use()
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    return Progress.DONE if deleted < MESSAGES_AT_A_TIME else Progress.UNFINISHED
