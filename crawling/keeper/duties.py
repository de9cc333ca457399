"""What the keeper does about runs: starts what is due, settles what a crash left unsettled, counts the workers."""

from __future__ import annotations

import logging
import time

from django.db import connection
from django.db.models import Exists, OuterRef
from django.utils import timezone

from allocation.errors import AllocationError
from allocation.models import Process, ProcessState
from allocation.services import set_capacity
from crawling.archive.files import seal_all, this_machine
from crawling.frontier.freeing import FREE_AT
from crawling.frontier.hotspots import forget_cold
from crawling.frontier.names import HELD_UNTIL, gate_is_wanted
from crawling.frontier.reranking import rank_some
from crawling.keeper.messages import live_workers
from crawling.models import ArchiveFile, Reranking, Run, RunProcess, RunState, Shift
from crawling.models.jobs import ENDED_STATES, WORKING_STATES
from crawling.services.bank import SOON_SECONDS, UNREGISTERED, ask_for_shift, default_pool, enroll, leave_bank
from crawling.services.shifts import settle_run

logger = logging.getLogger(__name__)

RANK_SECONDS = 0.5

#: processes of runs at work that have something due, no shift, and nothing asked of the bank
DUE = f"""
SELECT p.id FROM crawling_runprocess p
JOIN crawling_run r ON r.id = p.run_id
JOIN allocation_process b ON b.id = p.bank_process_id
WHERE r.state IN ('queued', 'running') AND b.state = 'active' AND b.lease_until IS NULL
  AND NOT EXISTS (SELECT FROM allocation_request w WHERE w.process_id = b.id AND w.state = 'waiting')
  AND EXISTS (SELECT FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
              WHERE q.run_id = r.id AND (q.process_number = p.number OR NOT p.serving) AND q.queued > 0
                AND greatest(q.due_at, {FREE_AT}, {HELD_UNTIL}) <= clock_timestamp() + make_interval(secs => %(soon)s))
ORDER BY p.id
"""  # noqa: S608  # constants


def start_what_is_due() -> None:
    """Ask the bank for the shifts that are due and not asked for."""
    with connection.cursor() as cursor:
        cursor.execute(DUE, {"soon": SOON_SECONDS, "gate": gate_is_wanted()})
        due = [row[0] for row in cursor.fetchall()]
    for process in RunProcess.objects.select_related("run__crawl").filter(pk__in=due):
        ask_for_shift(process)


def settle_what_was_left() -> None:
    """Finish steps that a crash cut off: each run is brought to where its rows say it should be."""
    unregistered = RunProcess.objects.filter(UNREGISTERED, run=OuterRef("pk"))
    for run in Run.objects.filter(Exists(unregistered), state__in=WORKING_STATES):
        enroll(run)
    alive = Shift.objects.filter(process__run=OuterRef("pk"), ended_at=None)
    for run_id in Run.objects.filter(~Exists(alive)).exclude(state__in=[*ENDED_STATES, RunState.PAUSED]).values_list("pk", flat=True):
        settle_run(run_id)
    staying = Process.objects.filter(run_process__run=OuterRef("pk"), state=ProcessState.ACTIVE)
    for run in Run.objects.filter(Exists(staying), state__in=ENDED_STATES):
        leave_bank(run)
    # A dying shift may have had its slot still when its run ended.
    for run_id in ArchiveFile.objects.filter(sealed_at=None, machine=this_machine(), run__state__in=ENDED_STATES).values_list(
        "run", flat=True
    ):
        seal_all(run_id)


def rank_anew() -> None:
    """Go on ranking the waiting URLs of runs whose weights were edited; for half a second, since other duties wait meanwhile."""
    until = time.monotonic() + RANK_SECONDS
    for run_id in Reranking.objects.order_by("run").values_list("run", flat=True):
        while time.monotonic() < until and rank_some(run_id):
            pass


def forget_cold_pages() -> None:
    """Drop the pages from the page cache's counts that nobody wants any more."""
    forget_cold(timezone.now())


def count_workers() -> None:
    """Let the `worker` class have as many units as there are workers, so that a grant always finds one."""
    pool = default_pool()
    workers = live_workers()
    units = dict(zip(pool.classes.values_list("key", flat=True), pool.capacity, strict=False))
    if not workers or units.get("worker") in (None, workers):
        return
    try:
        set_capacity(pool=pool.pk, capacity={"worker": workers})
    except AllocationError as error:
        logger.debug("worker capacity stays for now", extra={"workers": workers, "error": str(error)})
