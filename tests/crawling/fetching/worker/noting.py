"""Workers for shifts whose work processes write down which jobs they perform."""

from __future__ import annotations

import os
from pathlib import Path

from crawling.fetching.worker.rq_worker import ShiftWorker

MIB = 1024 * 1024


class NotingWorker(ShiftWorker):
    """Writes the number of the process that performs a job into the file NOTES when the job
    begins.
    """

    def prepare_job_execution(self, job, *args):
        with Path(os.environ["NOTES"]).open("a") as notes:
            notes.write(f"{os.getpid()}\n")
        super().prepare_job_execution(job, *args)


class SwellingWorker(NotingWorker):
    """A worker whose jobs each leave 40 MiB behind."""

    def prepare_job_execution(self, job, *args):
        super().prepare_job_execution(job, *args)
        self.left_behind = bytearray(os.urandom(1)) * (40 * MIB)
