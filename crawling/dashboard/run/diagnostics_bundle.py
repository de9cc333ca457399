"""The evidence for finding out why a run is not fetching: a ZIP file of what its pages show and of
the rows behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.utils import timezone
from pydantic_core import to_json

from allocation.models import Process
from allocation.selectors import holdings_of, resource_rows
from allocation.snapshot import WaitRow
from crawling.crawls.creation import order_of
from crawling.dashboard.base.crawl_views import run_view
from crawling.dashboard.run.charts import minutes
from crawling.dashboard.run.diagnosis import facts_of
from crawling.dashboard.run.hosts import first_hosts, host_rows
from crawling.dashboard.run.log import LogFilter, as_text, log_before
from crawling.dashboard.run.processes import dealings_of
from crawling.models import Run, Shift, Url, UrlState
from crawling.runs.diagnosis import verdict
from crawling.runs.grants import pool_of
from serving.row_lines import csv_lines

LINES, HOSTS, SHIFTS, URLS, MINUTES = 1000, 200, 100, 200, 360


def evidence_of(run: Run) -> bytes:
    """The bundle, each part of it bounded whatever the size of the run."""
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as bundle:
        for name, text in _parts(run).items():
            bundle.writestr(name, text)
    return content.getvalue()


def _parts(run: Run) -> dict[str, str]:
    by_process = {one.process: one.wait for one in dealings_of(run) if one.wait}
    waits = list(by_process.values())
    facts = facts_of(run, waits[0] if waits else None)
    lines = log_before(run, LogFilter(), most=LINES).lines
    queues = first_hosts(run, HOSTS)
    hosts = [vars(row) for row in host_rows(run, queues)]  # fields that need no copy
    shifts = (
        Shift.objects.filter(process__run=run)
        .order_by("-pk")
        .values("pk", "process__number", "epoch", "worker", "started_at", "ended_at", "ending")
    )
    # Of the hosts with most to do: to put all that waits in order would mean to read it.
    waiting = Url.objects.filter(queue__in=queues, state=UrlState.QUEUED).order_by("queue", "rank")
    at_work = Url.objects.filter(
        shift__process__run=run, shift__ended_at=None, state=UrlState.IN_PROCESS
    )
    columns = ("url", "state", "attempts", "due_at", "status", "error", "shift")
    urls = [*at_work.values(*columns)[:URLS], *waiting.values(*columns)[:URLS]]
    until = run.finished_at or timezone.now()
    by_minute, _ = minutes(run, after=int(until.timestamp()) - 60 * MINUTES, limit=MINUTES)
    return {
        "verdict.json": _json({"verdict": asdict(verdict(facts)), "facts": asdict(facts)}),
        "crawl.json": _json(
            {**run_view(run, waits=by_process).as_dict(), "order": order_of(run.crawl)}
        ),
        "resources.json": _json(_resources(run, waits)),
        "hosts.csv": _csv(hosts),
        "shifts.csv": _csv(list(shifts[:SHIFTS])),
        "urls-waiting.csv": _csv(urls),
        "minutes.csv": _csv([asdict(row) for row in by_minute]),
        "log.txt": "".join(as_text(lines)),
    }


def _resources(run: Run, waits: Sequence[WaitRow]) -> dict[str, Any]:
    own = list(Process.objects.filter(run_process__run=run).values())
    ids = [row["id"] for row in own]
    pool = pool_of(run.crawl)
    return {
        "resources": [asdict(row) for row in resource_rows(pool, list(pool.classes.all()))],
        "is_safe": pool.is_safe,
        "processes": own,
        "holdings": [asdict(one) for held in holdings_of(ids).values() for one in held],
        "waits": [asdict(wait) for wait in waits],
    }


def _json(value: Any) -> str:
    # `json` writes lines in Python, which takes ten times as long
    return to_json(value, indent=1, fallback=str).decode()


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(csv_lines(list(rows[0]), (row.values() for row in rows))) if rows else ""
