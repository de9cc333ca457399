"""Follow a crawl to its end on the terminal."""

from __future__ import annotations

import math
import time

from django.db import OperationalError, connection
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from crawling.dashboard.base.crawl_views import CrawlView, crawl_view
from crawling.models import CrawlJob
from crawling.models.jobs import ENDED_STATES, RunState

POLL_SECONDS = 0.5
#: the interval at which the wait is printed if no progress bar can be drawn
SAY_SECONDS = 30.0
#: the extra time after its time limit in which a run should have ended
LATE_SECONDS = 60.0
#: the longest outage of the database during which the command waits; a restarted database answers
#: long before
OUTAGE_SECONDS = 60.0
NO_DATABASE = "The database does not answer; it is asked again."
COLUMNS = (
    SpinnerColumn(),
    TextColumn("{task.description}", markup=False),
    TextColumn(
        "{task.fields[done]:,} done, {task.fields[left]:,} queued, {task.fields[failed]:,} failed"
    ),
    TimeElapsedColumn(),
    TextColumn("{task.fields[why]}", markup=False),
)


def follow(crawl: CrawlJob, *, show: bool) -> tuple[CrawlView, bool]:
    """Wait until the run has ended or is paused, or exceeds its time limit. Return the crawl, and
    whether the limit was exceeded. The progress bar shows no total, since an open frontier has
    none.

    Ctrl-C ends this command, not the crawl. Raises OperationalError once the database has not
    answered for OUTAGE_SECONDS.
    """
    view = crawl_view(crawl)
    until = time.monotonic() + crawl.max_seconds + LATE_SECONDS if crawl.max_seconds else math.inf
    with Progress(
        *COLUMNS, console=Console(stderr=True), transient=True, disable=not show
    ) as progress:
        task = progress.add_task(crawl.name, total=None, done=0, left=0, failed=0, why="")
        say = _ProgressLine(progress.console, is_wanted=show)
        try:
            while view.state not in (*ENDED_STATES, RunState.PAUSED) and time.monotonic() < until:
                counts = view.counts
                left = counts.queued + counts.in_process
                why = f"{view.state}: {view.reason}"
                progress.update(task, done=counts.fetched, left=left, failed=counts.failed, why=why)
                say(why)
                view = _next_view(crawl, say)
        except KeyboardInterrupt:
            progress.console.print(
                f"The crawl continues; `./crawl show {crawl.pk}` prints its state."
            )
            return view, False
    return view, time.monotonic() >= until


def _next_view(crawl: CrawlJob, say: _ProgressLine) -> CrawlView:
    """The crawl half a second later, or as soon as a restarted database answers again."""
    until = time.monotonic() + OUTAGE_SECONDS
    while True:
        time.sleep(POLL_SECONDS)  # a poll, since any process may write these rows
        try:
            return crawl_view(crawl)
        except OperationalError:
            connection.close()
            if time.monotonic() > until:
                raise
        say(NO_DATABASE)


class _ProgressLine:
    """Prints from time to time why the run waits, if no progress bar shows it."""

    def __init__(self, console: Console, *, is_wanted: bool) -> None:
        self._console, self._next, self._said = console, 0.0, ""
        self._is_wanted = is_wanted and not console.is_terminal

    def __call__(self, why: str) -> None:
        now = time.monotonic()
        if not self._is_wanted or why == self._said or now < self._next:
            return
        self._said, self._next = why, now + SAY_SECONDS
        self._console.print(why, markup=False, highlight=False, soft_wrap=True)


def exit_status(view: CrawlView, *, is_late: bool = False) -> int:
    """0: the run is finished or paused, and a fetch succeeded. 1: it failed or was stopped, or no
    fetch succeeded. 3: it exceeds its time limit.
    """
    if is_late:
        return 3
    if view.state in (RunState.FAILED, RunState.STOPPED):
        return 1
    return 0 if view.counts.succeeded or view.state not in ENDED_STATES else 1
