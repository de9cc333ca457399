"""Follow a crawl to its end on the terminal."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from crawling.models import CrawlJob
from crawling.models.jobs import ENDED_STATES, RunState
from crawling.selectors import CrawlView, crawl_view

POLL_SECONDS = 0.5
COLUMNS = (
    SpinnerColumn(),
    TextColumn("{task.description}", markup=False),
    TextColumn("{task.fields[done]:,} done, {task.fields[left]:,} known and waiting, {task.fields[failed]:,} failed"),
    TimeElapsedColumn(),
    TextColumn("{task.fields[why]}", markup=False),
)


def follow(crawl: CrawlJob, *, show: bool) -> CrawlView:
    """Return the crawl once its run has ended or is paused. No total is invented: an open frontier has none.

    Ctrl-C ends the following, not the crawl.
    """
    view = crawl_view(crawl)
    with Progress(*COLUMNS, console=Console(stderr=True), transient=True, disable=not show) as progress:
        task = progress.add_task(crawl.name, total=None, done=0, left=0, failed=0, why="")
        try:
            while view.state not in (*ENDED_STATES, RunState.PAUSED):
                counts = view.counts
                left = counts.queued + counts.in_process
                progress.update(task, done=counts.fetched, left=left, failed=counts.failed, why=f"{view.state}: {view.reason}")
                time.sleep(POLL_SECONDS)  # rows are the truth, whoever writes them; a person watches
                view = crawl_view(crawl)
        except KeyboardInterrupt:
            progress.console.print(f"The crawl goes on; `manage.py crawl show {crawl.pk}` tells how far it is.")
    return view


def exit_status(view: CrawlView) -> int:
    """0: finished, or paused, and something succeeded; 1: it failed, was stopped, or fetched nothing that succeeded."""
    if view.state in (RunState.FAILED, RunState.STOPPED):
        return 1
    return 0 if view.counts.succeeded or view.state not in ENDED_STATES else 1
