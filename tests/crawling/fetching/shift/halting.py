"""A worker whose first work process stops itself (SIGSTOP) at one step of its shift, so that a test
can act on it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import connection
from rq import Queue
from rq.job import Job

from crawling.fetching.worker.rq_worker import ShiftWorker
from tests.mutants.faults import NEVER_QUICK
from tests.mutants.planting import planted


class Step(NamedTuple):
    """The first statement that contains `sql` after one that contains `once`."""

    once: str
    sql: str
    before: bool = False
    is_quick: bool = False
    #: whether to halt in a shift that ends at its first check and is followed by another
    in_short_shift: bool = True


#: the release at the end of a shift that another follows, by the services step by step and in one
#: call of the server; the end of a run, which releases all that its last shift holds; the writing
#: of pages
STEPS = {
    "before the call": Step("", "allocation_release(", before=True, is_quick=True),
    "after the call": Step("", "allocation_release(", is_quick=True),
    "before the lock": Step('UPDATE "crawling_shift"', 'FROM "allocation_pool"', before=True),
    "after the lock": Step('UPDATE "crawling_shift"', 'FROM "allocation_pool"'),
    "before the write": Step("", "allocation_write_release(", before=True),
    "before the commit": Step("", "allocation_write_release("),
    "after the commit": Step("allocation_write_release(", 'FROM "crawling_run"', before=True),
    "before the run leaves": Step(
        '"finished_at" = ', 'FROM "allocation_pool"', before=True, in_short_shift=False
    ),
    "while the run leaves": Step(
        '"finished_at" = ', "allocation_write_release(", before=True, in_short_shift=False
    ),
    "after the run has left": Step(
        '"finished_at" = ', 'FROM "crawling_archivefile"', before=True, in_short_shift=False
    ),
    "between two batches of pages": Step(
        "INSERT INTO crawling_runcount", 'FROM "crawling_run"', before=True, in_short_shift=False
    ),
    "while it records pages": Step("", "INSERT INTO crawling_runcount", in_short_shift=False),
}


class HaltingWorker(ShiftWorker):
    """The environment names the step (HALT_AT) and limits the halt to one work process (HALTED, a
    file that the process makes).
    """

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        halt = Halt(STEPS[os.environ["HALT_AT"]], Path(os.environ["HALTED"]))
        step = STEPS[os.environ["HALT_AT"]]
        # Shifts after the halt have their usual length: sixty pages in shifts of a hundredth of a
        # second take minutes on a busy machine.
        if step.in_short_shift and not halt.is_over:
            settings.CRAWL_SLICE_SECONDS = 0.01
        with (
            nullcontext() if step.is_quick else planted(NEVER_QUICK),
            connection.execute_wrapper(halt),
        ):
            super().main_work_horse(job, queue)


class Halt:
    """Counts statements of the work process's main thread."""

    def __init__(self, step: Step, mark: Path) -> None:
        self._step, self._mark, self._armed = step, mark, not step.once

    @property
    def is_over(self) -> bool:
        return self._mark.exists()

    def __call__(
        self, execute: Callable, sql: str, params: object, many: bool, context: dict
    ) -> object:
        is_here = self._armed and self._step.sql in sql and not self._mark.exists()
        if is_here and self._step.before:
            self._stop()
        result = execute(sql, params, many, context)
        if is_here and not self._step.before:
            self._stop()
        self._armed = self._armed or self._step.once in sql
        return result

    def _stop(self) -> None:
        self._mark.touch()
        os.kill(os.getpid(), signal.SIGSTOP)
