"""Gathers the facts about a run that should be fetching, and finds the reason why it is not. Takes
a fixed number of queries.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Max, OuterRef, Subquery
from django.utils import timezone
from redis.exceptions import RedisError

from allocation.models import Process
from allocation.snapshot import WaitRow
from crawling.dashboard.run.numbers import RunRows, rows_of
from crawling.jobs.rq_jobs import live_workers
from crawling.models import CrawlJob, Run, RunCount, RunProcess, RunState, Url, UrlState
from crawling.models.jobs import ENDED_STATES
from crawling.runs.diagnosis import NextHost, RunFacts, Stall, diagnose
from crawling.runs.grants import PAUSED_BY_HAND
from crawling.runs.wait_reason import NextHostQueue
from crawling.scheduler.leader import has_leader

MINUTE = timedelta(minutes=1)
#: the part of a lease that is left if it was not renewed in time: renewals come after a third
LATE = 0.5


def stall_of(run: Run, wait: WaitRow | None, rows: RunRows | None = None) -> Stall | None:
    """The diagnosis of a run; None if it has ended. wait: the reason why it waits for resources, if
    it does.

    rows: the rows of its processes, if the caller has already read them.
    """
    return None if run.state in ENDED_STATES else diagnose(facts_of(run, wait, rows))


def facts_of(run: Run, wait: WaitRow | None, rows: RunRows | None = None) -> RunFacts:
    rows = rows or rows_of(run)
    processes = [one.bank_process for one in rows.processes if one.bank_process]
    unclaimed = [one.pk for one in processes if one.lease_until is not None and not one.worker]
    now, lease = timezone.now(), timedelta(seconds=settings.BANK_LEASE_SECONDS)
    leases = [one.lease_until for one in processes if one.lease_until is not None and one.worker]
    late = [end for end in leases if end - now < LATE * lease]
    shift = max(rows.live_shifts, key=lambda shift: shift.pk, default=None)
    return RunFacts(
        state=run.state,
        paused=_pause_in_words(run) if run.state == RunState.PAUSED else "",
        wait=wait.reason if wait else "",
        wait_ends=wait.what_ends_it if wait else "",
        granted_seconds=_since_grant(unclaimed) if unclaimed else None,
        # counts are stored by minute, so the last count may have been written at the end of its
        # minute
        quiet_seconds=(
            now - max(shift.started_at, (_last_minute(run) or shift.started_at) + MINUTE)
        ).total_seconds()
        if shift
        else None,
        lease_seconds=(max(leases) - now).total_seconds() if leases else None,
        late_sessions=len(late),
        late_seconds=max(0.0, (max(late) - now).total_seconds()) if late else 0.0,
        queued=rows.counts.queued,
        quarantined=rows.counts.quarantined,
        next_host=_next_host(rows.next_hosts),
        workers=_workers(),
        is_scheduler_there=has_leader(),
    )


def _last_minute(run: Run) -> datetime | None:
    """The minute with the latest count. Takes one index look-up for each process, however many
    minutes there are.
    """
    latest = (
        RunCount.objects.filter(run=run, process_number=OuterRef("number"))
        .order_by("-minute")
        .values("minute")[:1]
    )
    minutes = (
        RunProcess.objects.filter(run=run)
        .annotate(last=Subquery(latest))
        .values_list("last", flat=True)
    )
    return max(filter(None, minutes), default=None)


def _since_grant(processes: list[int]) -> float:
    granted = Process.objects.filter(pk__in=processes, grants__released_at=None).aggregate(
        at=Max("grants__granted_at")
    )["at"]
    return (timezone.now() - granted).total_seconds() if granted else 0.0


def _next_host(hosts: Iterable[NextHostQueue]) -> NextHost | None:
    for host in hosts:
        waiting = Url.objects.filter(
            queue=host.queue, state=UrlState.QUEUED, due_at__gt=timezone.now()
        ).order_by("rank", "pk")
        status = waiting.values_list("status", flat=True).first() if host.seconds > 0 else None
        outage = host.outage.sentence if host.outage else ""
        return NextHost(
            host.name,
            host.seconds,
            host.taken_by,
            status,
            is_held=host.is_held,
            rest_reason=host.rest_reason,
            outage=outage,
        )
    return None


def _pause_in_words(run: Run) -> str:
    """A sentence on the pause of a run: the user who paused it and the time, or the reason for an
    automatic pause.
    """
    if run.trouble:
        return run.trouble
    crawls = ContentType.objects.get_for_model(CrawlJob)
    notes = LogEntry.objects.filter(
        content_type=crawls,
        object_id=str(run.crawl_id),
        change_message__contains='"action": "paused"',
    )
    last = notes.select_related("user").order_by("-action_time").first()
    if last is None:
        return run.reason
    by = f"Paused by {last.user} on {last.action_time:%Y-%m-%d at %H:%M} UTC"
    return f"{by}; {run.reason.removeprefix(PAUSED_BY_HAND)}"


def _workers() -> int | None:
    try:
        return live_workers()
    except RedisError:
        return None
