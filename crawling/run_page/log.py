"""A run's log, the latest lines first, with a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from crawling.models import Level, LogLine, Run

LINES = 50
#: text is looked for in so many lines at a time, so that a search never reads the whole log
SEARCHED = 20_000


@dataclass(frozen=True)
class LogWindow:
    """The latest first. `older` continues before them; None: nothing is older."""

    lines: Sequence[LogLine]
    older: int | None


def log_of(run: Run, *, level: int = Level.INFO, text: str = "", before: int | None = None) -> LogWindow:
    """The latest lines of at least `level` that hold `text`, before the line of that id."""
    lines = LogLine.objects.filter(run=run).order_by("-pk")
    if before is not None:
        lines = lines.filter(pk__lt=before)
    if level >= Level.ERROR:
        lines = lines.filter(level=Level.ERROR)  # as its index is written
    elif level > Level.INFO:
        lines = lines.filter(level__gte=level)
    end = None
    if text:
        end = lines.values_list("pk", flat=True)[SEARCHED : SEARCHED + 1].first()
        lines = lines.filter(Q(message__icontains=text) | Q(url__icontains=text))
        if end is not None:
            lines = lines.filter(pk__gt=end)
    found = list(lines[: LINES + 1])
    is_more = len(found) > LINES
    older = found[LINES - 1].pk if is_more else None if end is None else end + 1
    return LogWindow(found[:LINES], older)
