"""What ends a run before its frontier is empty."""

from __future__ import annotations

from django.db.models import Sum
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from crawling.models import Run, RunCount, UrlState


def pages_left(run: Run) -> int | None:
    """How many more pages the run may fetch, those in process counted as fetched; None without a limit."""
    if run.crawl.max_pages is None:
        return None
    in_process = run.urls.filter(state=UrlState.IN_PROCESS, shift__isnull=False, shift__process__run=run).count()
    return max(0, run.crawl.max_pages - _total(run, "fetched") - in_process)


def limit_reached(run: Run) -> str:
    """The sentence of the limit that the run has reached, or nothing. That on pages is exact: no more are claimed than it leaves,
    and what is in process then comes to its end. The others may be passed by what is being fetched when they are reached."""
    crawl = run.crawl
    if crawl.max_pages is not None and _total(run, "fetched") >= crawl.max_pages:
        return f"The limit of {crawl.max_pages} pages is reached; the frontier holds more."
    if crawl.max_bytes is not None and _total(run, "bytes") >= crawl.max_bytes:
        return f"The limit of {filesizeformat(crawl.max_bytes)} is reached; the frontier holds more."
    if crawl.max_seconds is not None and run.started_at and (timezone.now() - run.started_at).total_seconds() >= crawl.max_seconds:
        return f"The limit of {crawl.max_seconds:,} seconds is reached; the frontier holds more."
    return ""


def _total(run: Run, column: str) -> int:
    return int(RunCount.objects.filter(run=run).aggregate(total=Sum(column))["total"] or 0)
