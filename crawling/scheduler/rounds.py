"""The rounds of the scheduler. Each duty has its own interval, and an error in one duty does not
delay the others.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psycopg
from django.db import Error as DatabaseError
from django.db import connections
from redis.exceptions import RedisError

from allocation.errors import AllocationError
from allocation.services import keep_checkpoints, keep_wait_counts, reap_expired
from crawling.base.errors import CrawlError
from crawling.base.use import offered_by_uses
from crawling.frontier.address_clock import forget_clocks
from crawling.frontier.host_state import trim_robots
from crawling.frontier.run_counts import total_minutes
from crawling.jobs.due_jobs import request_due_jobs
from crawling.jobs.retention import end_and_delete_old_jobs
from crawling.machine.notices import StopEvent
from crawling.machine.work_folders import remove_abandoned_folders
from crawling.runs.crawls.deleted_items import forget_deleted
from crawling.runs.crawls.rejudgement import Rejudger
from crawling.runs.crawls.schedules import follow_changes, start_scheduled
from crawling.runs.housekeeping.disk import measure_disk
from crawling.runs.housekeeping.retention import RunRetention
from crawling.runs.housekeeping.run_removal import remove_rows
from crawling.runs.process_count import ExtraProcesses
from crawling.runs.resource_use import sample_use
from crawling.runs.shift_lifecycle import close_shifts_lost_here
from crawling.runs.takeover import take_over_hosts
from crawling.scheduler.duties import (
    IdleCapacity,
    Progress,
    continue_reranking,
    count_workers,
    delete_expired_rows,
    duty_in_slices,
    forget_cold_pages,
    register_continued_runs,
    settle_interrupted_runs,
    start_due_crawls,
)
from crawling.scheduler.idle_state import FLOOR_SECONDS, IdleState
from crawling.scheduler.leader import Leadership
from crawling.scheduler.messages import (
    deliver_other_messages,
    deliver_starts,
    resend_lost_background_jobs,
    resend_lost_starts,
)

logger = logging.getLogger(__name__)

#: the interval of duties about active runs while nothing is active; they are done then in case a
#: notification was lost
IDLE_SECONDS = 20.0
#: the same for duties that only tidy
IDLE_TIDY_SECONDS = 300.0
#: the pause after a round that has left work, so that permanent work does not keep a processor busy
PAUSES = {Progress.UNFINISHED: FLOOR_SECONDS / 10, Progress.PENDING: FLOOR_SECONDS}
#: a duty that takes longer than this is logged
SLOW_SECONDS = 0.1
#: temporary errors. Any other error is a bug and ends the scheduler, which the supervisor starts
#: again
PASSING = (DatabaseError, psycopg.Error, RedisError, AllocationError, CrawlError)


@dataclass
class Duty:
    do: Callable[[], object]
    every_seconds: float
    #: the least time between two rounds while nothing is active
    idle_seconds: float = IDLE_SECONDS
    due_at: float = 0.0
    done_at: float = -math.inf

    def is_due(self, now: float, *, is_idle: bool) -> bool:
        return self.due_at <= now and not (is_idle and now < self.done_at + self.idle_seconds)


def duties() -> list[Duty]:
    return [
        Duty(deliver_other_messages, 0.0),
        Duty(start_due_crawls, 1.0),
        Duty(IdleCapacity().start_idle_crawls, 1.0),
        Duty(reap_expired, 2.0),
        Duty(close_shifts_lost_here, 1.0),
        Duty(settle_interrupted_runs, 5.0),
        Duty(register_continued_runs, 60.0),
        Duty(duty_in_slices(Rejudger().rejudge_after_edits), 1.0, 0.0),
        Duty(take_over_hosts, 5.0),
        Duty(ExtraProcesses().fit_processes, 2.0),
        Duty(start_scheduled, 5.0, 0.0),
        Duty(follow_changes, 10.0, 0.0),
        Duty(resend_lost_starts, 10.0),
        Duty(request_due_jobs, 10.0, 0.0),
        Duty(resend_lost_background_jobs, 10.0, 0.0),
        Duty(continue_reranking, 1.0),
        Duty(count_workers, 5.0, IDLE_SECONDS / 2),
        Duty(keep_checkpoints, 60.0),
        Duty(keep_wait_counts, 60.0),
        Duty(trim_robots, 300.0),
        Duty(forget_clocks, 300.0),
        Duty(forget_cold_pages, 600.0),
        Duty(duty_in_slices(remove_rows), 1.0),
        Duty(forget_deleted, 600.0),
        Duty(RunRetention().keep_to_rules, 30.0),
        Duty(measure_disk, 600.0),
        Duty(remove_abandoned_folders, 600.0),
        Duty(delete_expired_rows, 600.0),
        Duty(total_minutes, 60.0),
        Duty(sample_use, 10.0),
        Duty(end_and_delete_old_jobs, 30.0, IDLE_TIDY_SECONDS),
        *(Duty(*one) for one in offered_by_uses("jobs", "DUTIES")),
    ]


def run_scheduler(ending: StopEvent) -> None:
    """Run until stopped.

    This thread delivers granted starts and does nothing else. Another thread does all duties in
    turn.
    """
    leadership, delivery, idle = Leadership(), [Duty(deliver_starts, 0.0)], IdleState()
    leads = threading.Event()
    with ThreadPoolExecutor(1, "duties") as threads:
        duties_done = threads.submit(_do_duties, leads, idle, ending)
        while not ending.is_set():
            try:
                if leadership.is_held():
                    leads.set()
                    if do_round(delivery, time.monotonic()) is Progress.DONE and leadership.wait(
                        idle.floor_seconds, ending
                    ):
                        idle.note_grant()
                else:
                    leads.clear()
                    ending.wait(5 * FLOOR_SECONDS)
            except PASSING as error:
                logger.warning("the scheduler could not lead", extra={"error": str(error)})
                leads.clear()
                leadership.close()
                ending.wait(2 * FLOOR_SECONDS)
        idle.interrupt()
        leadership.close()
        connections.close_all()
        duties_done.result()  # raises errors that are bugs


def _do_duties(leads: threading.Event, idle: IdleState, ending: StopEvent) -> None:
    """Make rounds while this scheduler leads. A bug ends the scheduler."""
    rounds = duties()
    try:
        while not ending.is_set():
            progress = Progress.DONE
            if leads.is_set():
                idle.look()
                progress = do_round(rounds, time.monotonic(), is_idle=idle.is_on)
            idle.wait(PAUSES.get(progress, idle.floor_seconds))
    finally:
        ending.set()
        connections.close_all()


def do_round(rounds: list[Duty], now: float, *, is_idle: bool = False) -> Progress:
    """Do each due duty. A duty that fails for a temporary reason is repeated at its next
    interval.
    """
    left = {Progress.DONE}
    for duty in rounds:
        if not duty.is_due(now, is_idle=is_idle):
            continue
        duty.due_at, duty.done_at = now + duty.every_seconds, now
        began = time.monotonic()
        try:
            progress = duty.do()
            if isinstance(progress, Progress) and progress is not Progress.DONE:
                left.add(progress)
                duty.done_at = -math.inf
                duty.due_at = now if progress is Progress.UNFINISHED else duty.due_at
        except PASSING as error:
            logger.warning(
                "a duty of the scheduler failed",
                extra={"duty": duty.do.__name__, "error": str(error)},
            )
            connections.close_all()
        took = time.monotonic() - began
        if took > SLOW_SECONDS:
            told = {"duty": duty.do.__name__, "milliseconds": round(1000 * took)}
            logger.info("a duty of the scheduler was slow", extra=told)
    return next(progress for progress in (*PAUSES, Progress.DONE) if progress in left)
