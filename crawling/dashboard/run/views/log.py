"""The page with the log of a run: its growing end, earlier lines, the lines around a given one, and
the whole log as a file.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from crawling.dashboard.base.requests import asked_number, of_run
from crawling.dashboard.run.log import (
    LEVEL_WORDS,
    SEARCHED,
    LogFilter,
    following_id,
    log_after,
    log_around,
    log_before,
    log_file,
    log_rows,
)
from crawling.models import Run
from serving.access import AuthenticatedRequest
from serving.downloads import send
from serving.requests import render_live, wants_fragment

#: the reason why a crawl that was never started has no log
NEVER_STARTED = "it has no log yet"
#: the number of lines on a page, few enough for a browser to show and search at once
SHOWN = 1_000


@of_run(NEVER_STARTED)
def log(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show the end of a run's log, the lines before the line `?before=` or after the line
    `?after=`, or those around the line `?line=`.

    The live refresh requests the lines after the last settled one, and gets only lines.
    """
    wanted, line, after = (
        LogFilter.read(request.GET),
        asked_number(request, "line"),
        asked_number(request, "after"),
    )
    if line is not None and not wants_fragment(request):
        here = _lines_around(run, line)
    elif after is not None:
        here = _lines_after(run, wanted, after)
    else:
        here = _lines_before(run, wanted, asked_number(request, "before"))
    here |= {
        "crawl": run.crawl,
        "run": run,
        "asked": wanted,
        "levels": LEVEL_WORDS.items(),
        "lines": log_rows(here["lines"]),
        "line": None if line is None else str(line),
        "searched": SEARCHED,
    }
    return render_live(request, "crawling/log.html", "crawling/_log_lines.html", here)


@of_run(NEVER_STARTED)
def file(request: AuthenticatedRequest, run: Run, ending: str) -> HttpResponseBase:
    return send(log_file(run, LogFilter.read(request.GET), ending))


def _lines_before(run: Run, wanted: LogFilter, before: int | None) -> dict[str, Any]:
    window = log_before(run, wanted, before=before, most=SHOWN)
    lines = window.lines[::-1]
    if before is not None:
        return {"lines": lines, "older": window.older, "newer": before - 1}
    return {
        "lines": lines,
        "older": window.older,
        "following": following_id(run, lines, timezone.now()),
        "is_end": True,
    }


def _lines_after(run: Run, wanted: LogFilter, after: int) -> dict[str, Any]:
    tail = log_after(run, wanted, after=after, now=timezone.now(), most=SHOWN)
    return {
        "lines": tail.lines,
        "older": after + 1,
        "newer": tail.newer,
        "following": tail.following,
    }


def _lines_around(run: Run, line: int) -> dict[str, Any]:
    lines = log_around(run, line, most=SHOWN)
    if not lines:
        raise Http404(f"Run {run.number} has no line {line} in its log.")
    return {"lines": lines, "older": lines[0].pk, "newer": lines[-1].pk}
