"""`crawl log`: the log of a run on the terminal, at once or continuously."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.base.time_range import TimeRange
from crawling.dashboard.run.log import (
    CHUNK,
    LogFilter,
    as_jsonl,
    as_text,
    following_id,
    log_after,
    log_before,
)
from crawling.models import Level, LogLine, Run
from crawling.models.jobs import ENDED_STATES

POLL_SECONDS = 1.0
Show = Callable[[Iterable[LogLine]], None]


def add_log_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--run", type=int, help="a run by its number; default: the latest")
    parser.add_argument(
        "--level",
        choices=Level.labels,
        default=Level.INFO.label,
        help="lines of at least this level",
    )
    parser.add_argument("--text", default="", help="lines with this text in them or in their URLs")
    for name, words in (("since", "from this moment on"), ("until", "before this moment")):
        parser.add_argument(
            f"--{name}",
            default="",
            metavar="MOMENT",
            help=f"lines written {words}, like 2026-11-30T14:00",
        )
    parser.add_argument(
        "--last",
        type=int,
        default=50,
        metavar="LINES",
        help="number of lines from the end to begin with (default: 50)",
    )
    parser.add_argument(
        "--follow", action="store_true", help="continue until the run ends or Ctrl-C"
    )


def show_log(crawl: str, options: dict[str, Any], write: Callable[[str], object]) -> None:
    """Print the end of a run's log, the oldest line first. With --json, print one object a line.

    Raises CommandError or CrawlError.
    """
    if options["last"] < 1:
        raise CommandError("--last must be 1 or more")
    run = get_run(find_crawl(crawl).pk, options["run"])
    wanted = LogFilter(
        Level[options["level"].upper()], options["text"].replace("\0", ""), _read_span(options)
    )

    def show(lines: Iterable[LogLine]) -> None:
        for line in (as_jsonl if options["json"] else as_text)(lines):
            write(line)

    lines = log_before(run, wanted, most=options["last"]).lines[::-1]
    show(lines)
    if options["follow"]:
        _follow(
            run, wanted, following_id(run, lines, timezone.now()), {line.pk for line in lines}, show
        )


def _read_span(options: dict[str, Any]) -> TimeRange:
    span = TimeRange.read(options)
    for name in ("since", "until"):
        if options[name] and getattr(span, name) is None:
            raise CommandError(
                f"--{name} must be a moment, like 2026-11-30 or 2026-11-30T14:00 (UTC)"
            )
    return span


def _follow(run: Run, wanted: LogFilter, after: int, shown: set[int], show: Show) -> None:
    """Print new lines, each once, until no more lines can be written."""
    try:
        while True:
            # read before the lines: if the run has ended here, all its lines are written by then
            is_over = Run.objects.filter(pk=run.pk, state__in=ENDED_STATES).exists()
            at: int | None = after
            while at is not None:
                tail = log_after(run, wanted, after=at, now=timezone.now(), most=CHUNK)
                new = [line for line in tail.lines if line.pk not in shown]
                show(new)
                # unsettled lines may follow; the next look begins with them
                if at == after:
                    after = tail.following
                shown = {pk for pk in shown if pk > after} | {line.pk for line in new}
                at = tail.newer
            if is_over:
                return
            time.sleep(POLL_SECONDS)  # a poll, since any process may write these rows
    except KeyboardInterrupt:
        return
