"""The number of processes of a run (SEEDS W14). It is the number in the order, also after an edit.
If the order leaves it open, the run has one process, and an *extra* one for each idle worker. An
extra process never stays in the pool's queue, ends its shift as soon as other processes wait, and
is taken out after that shift. So hosts belong to it only while a worker serves them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from django.db import connection
from django.utils import timezone

from allocation.services import finish_process
from crawling.frontier import locked_run, reassign_hosts, serving_process_numbers
from crawling.installation.run_log import write
from crawling.models import HostQueue, Run, RunProcess, Shift
from crawling.models.jobs import PAUSE_STATES, WORKING_STATES
from crawling.orders.order import MOST_PROCESSES
from crawling.runs.grants import register_processes, request_shift, request_start
from crawling.runs.idle_capacity import REFUSED_SECONDS, lack_of_idle_capacity

#: the number of due hosts that justifies one more process
HOSTS_EACH = 4

#: runs that have a shift, or an extra process
TO_FIT = """
SELECT p.run_id FROM crawling_shift s JOIN crawling_runprocess p ON p.id = s.process_id
WHERE s.ended_at IS NULL
UNION
SELECT run_id FROM crawling_runprocess WHERE is_extra AND NOT is_retired
"""


@dataclass
class ExtraProcesses:
    """Adds and removes processes until each active run has the right number."""

    #: by run, the time until which it gets no extra process; monotonic seconds
    _paused: dict[int, float] = field(default_factory=dict)

    def fit_processes(self) -> None:
        """Retire surplus processes, and add missing ones."""
        now = time.monotonic()
        self._paused = {run: until for run, until in self._paused.items() if until > now}
        with connection.cursor() as cursor:
            cursor.execute(TO_FIT)
            found = [row[0] for row in cursor.fetchall()]
        # a paused run is left alone, since its units may be reserved
        runs = Run.objects.select_related("crawl").exclude(state__in=PAUSE_STATES)
        for run in runs.filter(pk__in=found).order_by("pk"):
            self._fitting_count(run)

    def _fitting_count(self, run: Run) -> None:
        limit = run.crawl.process_limit
        later = run.processes.filter(number__gt=0, is_retired=False)
        later.exclude(is_extra=limit is None).update(is_extra=limit is None)
        for process in later.select_related("bank_process"):
            if process.is_extra or process.is_surplus(run.crawl):
                self._retire_extra(run, process)
        if run.state not in WORKING_STATES:
            return
        if limit is not None:
            for number in set(range(limit)) - _numbers_in_use(run):
                request_shift(_add_process(run, number, is_extra=False))
        while limit is None and run.pk not in self._paused and _has_room(run):
            process = _add_process(
                run, min(set(range(MOST_PROCESSES)) - _numbers_in_use(run)), is_extra=True
            )
            request_start(process)
            if not _has_shift(process):
                self._retire_extra(run, process)

    def _retire_extra(self, run: Run, process: RunProcess) -> None:
        """Take a process without a shift out of the pool, and give its hosts to the run's other
        processes.
        """
        if _has_shift(process):
            return
        bank = process.bank_process
        if bank and bank.is_waiting:
            self._paused[run.pk] = time.monotonic() + REFUSED_SECONDS
        if bank and not finish_process(process=bank.pk, epoch=bank.epoch):
            return  # the process was granted a start after its row was read
        with locked_run(run.pk) as locked:
            _retire_process(locked, process)


def _has_shift(process: RunProcess) -> bool:
    """Whether the process has a shift, or has been granted a start."""
    process.refresh_from_db()
    bank = process.bank_process
    return (
        bool(bank and bank.lease_until)
        or Shift.objects.filter(process=process, ended_at=None).exists()
    )


def _retire_process(run: Run, process: RunProcess) -> None:
    rest = [number for number in serving_process_numbers(run.pk) if number != process.number]
    if not rest:  # the first process stays: it had no worker for a while, and waits for one
        rest = [0]
        run.processes.filter(number=0).update(serving=True)
    RunProcess.objects.filter(pk=process.pk).update(is_retired=True, serving=False)
    if run.state in WORKING_STATES:
        moved = reassign_hosts(run, rest, of=process.number)
        write(run.pk, f"Process {process.number} left; the others have its hosts ({moved}).")


def _numbers_in_use(run: Run) -> set[int]:
    return set(run.processes.filter(is_retired=False).values_list("number", flat=True))


def _add_process(run: Run, number: int, *, is_extra: bool) -> RunProcess:
    """Add a process with this number to the run and to the pool. A process of the run that had the
    number before is used again. The process gets hosts with its first shift.
    """
    wanted = {"is_retired": False, "serving": False, "is_extra": is_extra}
    process, _ = RunProcess.objects.update_or_create(run=run, number=number, defaults=wanted)
    register_processes(run)
    process.refresh_from_db()
    return process


def _has_room(run: Run) -> bool:
    """Whether one more process would find a worker, units for which no process waits, and hosts."""
    if lack_of_idle_capacity(run.crawl):
        return False
    enough = HOSTS_EACH * len(_numbers_in_use(run))
    due = HostQueue.objects.filter(run=run, queued__gt=0, due_at__lte=timezone.now())
    return due[: enough + 1].count() > enough
