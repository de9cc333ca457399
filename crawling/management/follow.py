"""Follow a crawl, or its log, to its end on the terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from crawling.errors import WrongState
from crawling.models import CrawlJob, LogLine, Run
from crawling.models.jobs import ENDED_STATES, RunState
from crawling.selectors import CrawlView, crawl_view

POLL_SECONDS = 0.5
#: of a log, as many as a page of it shows
LINES = 1000
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


def follow_log(crawl: CrawlJob, write: Callable[[str], object], *, to_the_end: bool, as_json: bool) -> None:
    """Print the last lines of the latest run's log, the oldest first; with `to_the_end` those that come until the run ends or pauses.

    Raises WrongState if there is no run.
    """
    run = crawl.runs.first()
    if run is None:
        raise WrongState(f"{crawl.name} has never been started, so it has no log yet.")
    tell = _as_json if as_json else _as_text
    lines = list(LogLine.objects.filter(run=run).order_by("-pk")[:LINES])[::-1]
    last = 0
    while True:
        for line in lines:
            write(tell(line))
            last = line.pk
        # Asked before the lines: whatever is written before a run ends is there once it has.
        has_ended = not to_the_end or Run.objects.get(pk=run.pk).state in (*ENDED_STATES, RunState.PAUSED)
        lines = list(LogLine.objects.filter(run=run, pk__gt=last).order_by("pk")) if to_the_end else []
        if has_ended and not lines:
            return
        if not has_ended:
            time.sleep(POLL_SECONDS)


def _as_text(line: LogLine) -> str:
    return " ".join(filter(None, (f"{line.at:%Y-%m-%dT%H:%M:%SZ}", line.get_level_display(), line.message, line.url)))


def _as_json(line: LogLine) -> str:
    facts = {"id": line.pk, "at": line.at.isoformat(), "level": line.get_level_display(), "message": line.message, "url": line.url}
    return json.dumps(facts, ensure_ascii=False)


def exit_status(view: CrawlView) -> int:
    """0: finished, or paused, and something succeeded; 1: it failed, was stopped, or fetched nothing that succeeded."""
    if view.state in (RunState.FAILED, RunState.STOPPED):
        return 1
    return 0 if view.counts.succeeded or view.state not in ENDED_STATES else 1
