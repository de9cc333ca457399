"""The evidence about a run that is not fetching: a ZIP file with the contents of its pages and the
rows behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.utils import timezone
from pydantic_core import to_json

from allocation.models import Process
from allocation.selectors import resource_rows
from crawling.dashboard.base.crawl_views import run_view
from crawling.dashboard.run.charts import RunMinute, run_minutes
from crawling.dashboard.run.diagnosis import facts_of
from crawling.dashboard.run.hosts import first_hosts, host_rows
from crawling.dashboard.run.log import latest_as_text
from crawling.dashboard.run.numbers import rows_of
from crawling.dashboard.run.processes import ProcessHoldings, holdings_and_waits
from crawling.installation.pools import pool_of
from crawling.models import Run, Shift, Url, UrlState
from crawling.runs.crawls.creation import order_of
from crawling.runs.diagnosis import diagnose
from serving.row_lines import csv_lines

LINES, HOSTS, SHIFTS, URLS, MINUTES = 1000, 200, 100, 200, 360
MINUTE = tuple(field.name for field in fields(RunMinute))


def diagnostics_bundle(run: Run) -> bytes:
    """The bundle. Each part is bounded, whatever the size of the run."""
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as bundle:
        for name, text in _file_texts(run).items():
            bundle.writestr(name, text)
    return content.getvalue()


def _file_texts(run: Run) -> dict[str, str]:
    rows = rows_of(run)
    dealings = holdings_and_waits(run, rows)
    waits = {one.process: one.wait for one in dealings if one.wait}
    facts = facts_of(run, next(iter(waits.values()), None), rows)
    idle = () if rows.live_shifts else rows.processes
    view = run_view(run, waits=waits, processes=idle, hosts=rows.next_hosts, counts=rows.counts)
    queues = first_hosts(run, HOSTS)
    hosts = [vars(row) for row in host_rows(run, queues, is_fetching=bool(rows.live_shifts))]
    shifts = (
        Shift.objects.filter(process__run=run)
        .order_by("-pk")
        .values("pk", "process__number", "epoch", "worker", "started_at", "ended_at", "ending")
    )
    # URLs of the hosts with the most waiting URLs; to sort all waiting URLs, all would have to be
    # read
    waiting = Url.objects.filter(queue__in=queues, state=UrlState.QUEUED).order_by("queue", "rank")
    at_work = Url.objects.filter(
        shift__process__run=run, shift__ended_at=None, state=UrlState.IN_PROCESS
    )
    columns = ("url", "state", "attempts", "due_at", "status", "error", "shift")
    urls = [*at_work.values(*columns)[:URLS], *waiting.values(*columns)[:URLS]]
    until = run.finished_at or timezone.now()
    by_minute, _ = run_minutes(run, after=int(until.timestamp()) - 60 * MINUTES, limit=MINUTES)
    return {
        "verdict.json": _json({"verdict": diagnose(facts), "facts": facts}),
        "crawl.json": _json({**view.as_dict(), "order": order_of(run.crawl)}),
        "resources.json": _json(_resources(run, dealings)),
        "hosts.csv": _csv(hosts),
        "shifts.csv": _csv(list(shifts[:SHIFTS])),
        "urls-waiting.csv": _csv(urls),
        "minutes.csv": _csv([{name: getattr(row, name) for name in MINUTE} for row in by_minute]),
        "log.txt": "".join(latest_as_text(run, LINES)),
    }


def _resources(run: Run, dealings: Sequence[ProcessHoldings]) -> dict[str, Any]:
    pool = pool_of(run.crawl)
    return {
        "resources": resource_rows(pool, list(pool.classes.all())),
        "is_safe": pool.is_safe,
        "processes": list(Process.objects.filter(run_process__run=run).values()),
        "holdings": [held for one in dealings for held in one.holdings],
        "waits": [one.wait for one in dealings if one.wait],
    }


def _json(value: Any) -> str:
    # data classes are written directly: `asdict` copies each, and `json` writes indented text in
    # Python, which takes ten times as long
    return to_json(value, indent=1, fallback=str).decode()


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(csv_lines(list(rows[0]), (row.values() for row in rows))) if rows else ""
