"""A job at work, as the function that does its work sees it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from django.db.models.functions import Now

from crawling.base.errors import CrawlError
from crawling.jobs.job_rows import end_job, lockable_row
from crawling.machine.child_process import GoesOn
from crawling.models import BackgroundJob, Run


class JobGone(CrawlError):
    """The job is cancelled or forgotten, or another machine does it anew."""


class JobWaits(CrawlError):
    """The job continues later; the message says what it waits for."""


class RunningJob:
    def __init__(self, row: BackgroundJob, goes_on: GoesOn) -> None:
        self.row = row
        #: returns whether the work may continue; the work calls it after each page or step
        self.goes_on = goes_on
        self.is_finished = False
        self.progress: dict[str, Any] = dict(row.progress)
        self._counted_until = time.monotonic()

    @property
    def run(self) -> Run:
        """The job's run. Raises JobGone if the run was deleted."""
        if self.row.run is None:
            raise JobGone
        return self.row.run

    def bookmark(self, bookmark: Any, **progress: Any) -> None:
        """Store the place at which to continue, in the transaction that stores the work done so
        far. Raises JobGone; the caller must let it roll back that transaction.
        """
        self._store_progress(progress, bookmark=bookmark, attempts=0, breaks=0)
        self.row.bookmark = bookmark

    def finish(self, result: Mapping[str, Any], *, run: Run | None = None) -> None:
        """Store the result in the transaction that makes it. Without this call, the value that the
        work returns is stored afterwards. Raises JobGone; the caller must let it roll back that
        transaction.

        run: the run that the job has made.
        """
        made: dict[str, Any] = {"run": run} if run else {}
        if not end_job(self.row, result, **made):
            raise JobGone
        self.is_finished = True

    def progress_after(self, done: int) -> dict[str, float]:
        """The progress after `done` more items, and the seconds of work. Together they give the
        rate of such jobs, without the time in which a job gave way to others.
        """
        since, self._counted_until = self._counted_until, time.monotonic()
        known = {name: self.progress.get(name, 0) for name in ("done", "seconds")}
        seconds = round(known["seconds"] + self._counted_until - since, 3)
        return {"done": known["done"] + done, "seconds": seconds}

    def note(self, **progress: Any) -> None:
        """Store the job's progress without a new bookmark. Raises JobGone."""
        self._store_progress(progress)

    def _store_progress(self, progress: dict[str, Any], **columns: Any) -> None:
        self.progress |= progress
        noted = lockable_row(self.row).update(progress=self.progress, heartbeat_at=Now(), **columns)
        if not noted:
            raise JobGone
