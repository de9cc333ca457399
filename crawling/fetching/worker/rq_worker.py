"""The RQ worker for shifts. It passes SIGTERM on to its work process, ends a process that hangs,
and reports a lost process at once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import Any

import django_rq
from django.conf import settings
from django.db import DatabaseError, connections
from redis.client import Pipeline
from rq import Queue
from rq.job import Job
from rq.worker_registration import register

# work processes are forked from here, so no shift has to import the modules that are imported here
import crawling.fetching.worker.jobs  # noqa: F401
from allocation.errors import StaleEpoch
from crawling.fetching.worker.jobs import prepare_to_fork
from crawling.fetching.worker.own_jobs import OwnJob
from crawling.fetching.worker.reused_process import ReusedProcessWorker
from crawling.frontier.rules.poison_suspects import CERTAIN_LOSSES, NOBODY, PoisonSuspects
from crawling.jobs.rq_jobs import RENDERING, SHIFTS, note_browser_units
from crawling.machine.browser import browser_units, why_no_browser
from crawling.machine.cpu_affinity import lower_priority_below_pages
from crawling.machine.memory_limit import prefer_oom_kill
from crawling.machine.orphans import stop_with_parent
from crawling.machine.vitals import VITALS, KillReason, find_kill_reason
from crawling.models import RunProcess
from crawling.runs.shift_lifecycle import close_shifts_lost_here, is_server_loss, shift_was_lost
from crawling.runs.steering import pause_for_trouble

#: the time after which a killed worker no longer counts; a live worker reports several times within
#: it
SEAT_SECONDS = 30
SIGN_SECONDS = 8
DIED = "lost: it failed or its operating-system process was killed; the worker's log says how"
ANOTHERS = "lost: another worker has its place"
SERVER_GONE = "lost: PostgreSQL or Redis went away"
REPORT_AGAIN_AFTER_SECONDS = (0.5, 1, 2, 4, 8, 0)


class ShiftWorker(ReusedProcessWorker):
    """A forking worker.

    Its work process runs shifts, one after the other, and turns SIGTERM into an orderly end of the
    shift (`crawling.fetching.worker.jobs`).
    """

    def __init__(self, queues: Iterable[Queue], *args: Any, **options: Any) -> None:
        queues = list(queues)
        self._is_of_crawls = any(queue.name == SHIFTS for queue in queues)
        asked, workers = settings.BROWSER_PAGES, settings.WORKERS
        #: what its browser may have; None if it renders no pages
        self.browser = browser_units(asked, workers=workers) if self._is_of_crawls else None
        self._why_no_browser = why_no_browser(asked, workers=workers) if self._is_of_crawls else ""
        if self.browser:
            # first, since only such workers serve it
            queues = [django_rq.get_queue(RENDERING), *queues]
        super().__init__(queues, *args, **options)
        prepare_to_fork()
        # RQ waits for the work process by an alarm, which takes whole seconds.
        self.job_monitoring_interval = max(
            1, min(SIGN_SECONDS, int(settings.BANK_LEASE_SECONDS / 12))
        )
        self._finding: KillReason | None = None

    @property
    def dequeue_timeout(self) -> int:
        """The time for which to wait for a job before the worker gives a sign of life and waits
        again.
        """
        return SIGN_SECONDS

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """Stop the work process gently as well. RQ would wait for the end of the job, which may be
        minutes away.
        """
        self._tell_work_process()
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]

    def request_force_stop(self, signum: int, frame: FrameType | None) -> None:
        """Ignore a second signal while a work process winds down: the supervisor has its own
        limit.
        """
        self._tell_work_process()

    def _tell_work_process(self) -> None:
        if self.horse_pid:
            with suppress(ProcessLookupError):  # the process may have ended just now
                os.kill(self.horse_pid, signal.SIGTERM)

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Redis may have lost everything, the list of workers included; so each heartbeat registers
        the worker again.

        RQ would count a dead worker for two minutes, in which the pool grants workers that do not
        exist.
        """
        super().heartbeat(SEAT_SECONDS, pipeline)
        register(self, pipeline)
        if self._is_of_crawls:
            note_browser_units(self, self.browser, self._why_no_browser, pipeline)
        if not self._is_horse:
            self._close_shifts_lost_here()

    def _close_shifts_lost_here(self) -> None:
        try:
            close_shifts_lost_here(but=self.name if self.horse_pid else "")
        except DatabaseError as error:  # try again at the next sign of life
            self.log.warning(
                "work sessions that were lost on this machine could not be closed: %s", error
            )
        finally:
            # a connection opened here must not be shared with the next work process
            connections.close_all()

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """Let the work process stop gently, too, when its parent is killed."""
        lower_priority_below_pages()
        stop_with_parent()
        prefer_oom_kill()
        super().main_work_horse(job, queue)

    def make_ready(self) -> None:
        """Forget the URLs that the previous shift had in hand."""
        self._finding = None
        VITALS.clear()

    def maintain_heartbeats(self, job: Job) -> None:
        """RQ calls this every few seconds while a work process works."""
        self._finding = self._finding or find_kill_reason(
            self.horse_pid, VITALS, settings.BANK_LEASE_SECONDS
        )
        if self._finding:
            self.log.error("work session %s is killed: %s", job.id, self._finding.why)
            self.kill_horse()
        super().maintain_heartbeats(job)

    def handle_job_failure(self, job: Job, queue: Queue, *args: Any, **kwargs: Any) -> None:
        """RQ calls this in the work process when the job raised an error, and here when the work
        process is dead.

        Either way the shift has no process any more, so it is closed before its lease runs out.
        """
        # in the work process, the job's error
        ending, blame = self._explanation(sys.exception())
        try:
            super().handle_job_failure(job, queue, *args, **kwargs)
        finally:
            self._close_shift(job, ending, blame)

    def _explanation(self, error: BaseException | None) -> tuple[str, PoisonSuspects]:
        """The reason why the shift was lost, for its log, and the pages that may be the cause."""
        if is_server_loss(error):
            return SERVER_GONE, NOBODY
        if isinstance(error, StaleEpoch):
            return ANOTHERS, NOBODY
        if self._is_horse:
            return DIED, PoisonSuspects()
        hands = [hand.url_id for hand in VITALS.urls_in_hand()]
        found = self._finding
        if found is None:
            return DIED, PoisonSuspects(hands or None)
        if found.culprit:
            return f"lost: {found.why}, so its process was killed", PoisonSuspects(
                [found.culprit], CERTAIN_LOSSES
            )
        return (
            f"lost: {found.why}, so its process was killed",
            NOBODY if found.is_explained else PoisonSuspects(hands),
        )

    def _close_shift(self, job: Job, ending: str, blame: PoisonSuspects) -> None:
        """Close the shift.

        PostgreSQL may be down, so the worker tries for some time. After that time the lease
        expires.
        """
        if not (isinstance(job, OwnJob) and job.is_ours and len(job.args) == 2):
            return  # the job in Redis is no shift
        process_id, epoch = job.args
        for wait in REPORT_AGAIN_AFTER_SECONDS:
            try:
                if self._finding and self._finding.comes_again:
                    _pause_run_of(process_id)
                shift_was_lost(process_id, epoch, ending, worker=self.name, blame=blame)
                return
            except DatabaseError as error:
                self.log.warning(
                    "work session %s: its loss could not be recorded: %s", job.id, error
                )
                # no event shows that PostgreSQL is back, and the worker has nothing else to do
                time.sleep(wait)
            finally:
                # a connection opened here must not be shared with the next work process
                connections.close_all()


def _pause_run_of(bank_process: int) -> None:
    """Pause the run whose order of visits hangs, since it would hang each further shift."""
    process = RunProcess.objects.select_related("run__crawl").get(bank_process=bank_process)
    order = process.run.crawl.visit_order
    pause_for_trouble(
        process.run_id,
        f"Paused because the order of visits {order} did not return from a URL, a fault of its "
        "package. Repair the package on all workers, start them again, and resume the crawl.",
    )
