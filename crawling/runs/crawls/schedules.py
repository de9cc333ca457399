"""Set a crawl's schedule, and start crawls that are due: each start exactly once, with any number
of schedulers.

Writing a schedule locks the crawl's row, as starting and deleting do.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, TooManyWait, WrongState
from crawling.installation.run_log import write
from crawling.models import (
    CrawlJob,
    DeletedItem,
    DeletedKind,
    Level,
    Run,
    Schedule,
    ScheduledStart,
)
from crawling.models.jobs import ENDED_STATES
from crawling.orders.schedules import (
    NO_TIME,
    DueStart,
    ScheduleTiming,
    next_pace_minutes,
    next_start,
    read_timing,
    spread_starts,
)
from crawling.runs.crawls.deleted_items import keep_deleted
from crawling.runs.grants import register_processes, request_shifts
from crawling.runs.start import create_run

logger = logging.getLogger(__name__)

#: the number of settled times that are kept for each schedule
KEPT = 100
#: the most minutes over which the starts of many crawls may be spread
LONGEST_SPREAD = 1439


def set_schedule(crawl: CrawlJob, fields: Mapping[str, Any], *, by: User | None = None) -> Schedule:
    """Set the schedule of a crawl.

    Raises BadOrder with a sentence for each field; then nothing has changed.

    A new interval begins now; an unchanged interval continues.
    """
    return _store_schedule(crawl, _checked_timing(fields), NO_TIME, by)


def set_schedules(
    crawls: Sequence[CrawlJob],
    fields: Mapping[str, Any],
    *,
    over_minutes: int = 0,
    by: User | None = None,
) -> None:
    """Set one schedule for many crawls, and spread their starts over `over_minutes` in the order of
    the crawls.

    Raises BadOrder as `set_schedule` does; then no schedule has changed.
    """
    if not 0 <= over_minutes <= LONGEST_SPREAD:
        raise BadOrder({"over_minutes": f"must be 0 to {LONGEST_SPREAD}"})
    try:
        timings = spread_starts(_checked_timing(fields), len(crawls), over_minutes)
    except ValueError as error:
        raise BadOrder({"over_minutes": str(error)}) from error
    with transaction.atomic():
        # in the order in which other transactions lock them
        for crawl, (timing, delay) in sorted(zip(crawls, timings, strict=True), key=_pk_of_first):
            _store_schedule(crawl, timing, delay, by)


def _pk_of_first(pair: tuple[CrawlJob, object]) -> int:
    return pair[0].pk


def _checked_timing(fields: Mapping[str, Any]) -> ScheduleTiming:
    timing, errors = read_timing(fields)
    if timing is None:
        raise BadOrder(errors)
    return timing


def _store_schedule(
    crawl: CrawlJob, timing: ScheduleTiming, delay: timedelta, by: User | None
) -> Schedule:
    """Set a schedule, and log the change. delay: added to the first interval."""
    now = timezone.now()
    with transaction.atomic():
        CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl.pk)
        before = Schedule.objects.filter(crawl=crawl).first()
        stays = (
            before is not None
            and not delay
            and before.timing["every_minutes"] == timing.every_minutes
        )
        anchor = before.anchor_at if before and stays else now + delay
        next_at = next(timing.times_after(now, anchor)) if timing.is_on else None
        values = {
            "timing": timing.model_dump(mode="json"),
            "anchor_at": anchor,
            "next_at": next_at,
            "pace_minutes": timing.every_minutes if timing.fastest_minutes else None,
            "set_by": by,
        }
        schedule, _ = Schedule.objects.update_or_create(crawl=crawl, defaults=values)
        record_action(
            by,
            crawl,
            "scheduled",
            {"schedule": (before.timing if before else None, schedule.timing)},
        )
    return schedule


def remove_schedule(crawl: CrawlJob, *, by: User | None = None) -> DeletedItem | None:
    """Delete the schedule of a crawl. An active run continues. The schedule can be restored for a
    while.

    Return None if the crawl has no schedule.
    """
    with transaction.atomic():
        CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl.pk)
        before = Schedule.objects.filter(crawl=crawl).first()
        if before is None:
            return None
        content = {"crawl": crawl.pk, "timing": before.timing}
        item = keep_deleted(DeletedKind.SCHEDULE, crawl.name, content, by=by)
        record_action(by, crawl, "unscheduled", {"schedule": (before.timing, None)})
        before.delete()
    return item


def start_scheduled() -> None:
    """Settle every start that is due. If a crash after the commit prevented the registration of a
    run in the pool, the scheduler registers it later.
    """
    now = timezone.now()
    for schedule_id in (
        Schedule.objects.filter(next_at__lte=now).order_by("next_at").values_list("pk", flat=True)
    ):
        run = start_due(schedule_id, now)
        if run:
            register_processes(run)
            request_shifts(run)


@transaction.atomic
def start_due(schedule_id: int, now: datetime) -> Run | None:
    """Settle a schedule's starts up to now. Return the new run, which the caller registers in the
    pool; None if no run was created.
    """
    CrawlJob.objects.select_for_update(of=("self",), no_key=True).filter(
        schedule=schedule_id
    ).first()
    schedule = (
        Schedule.objects.select_related("crawl", "set_by")
        .filter(pk=schedule_id, next_at__lte=now)
        .first()
    )
    if schedule is None or schedule.next_at is None:
        return None  # another scheduler was faster, or the schedule was switched off
    timing, errors = read_timing(schedule.timing)
    if timing is None:
        _disable_schedule(schedule, schedule.next_at, errors)
        return None
    due = next_start(
        timing,
        due_at=schedule.next_at,
        anchor=schedule.anchor_at,
        now=now,
        pace=schedule.pace_minutes,
    )
    run, outcome = _start_scheduled_run(schedule, due, now - due.at)
    ScheduledStart.objects.create(schedule=schedule, due_at=due.at, run=run, outcome=outcome)
    Schedule.objects.filter(pk=schedule_id).update(next_at=due.next_at)
    old = schedule.starts.order_by("-due_at").values_list("pk", flat=True)[KEPT:]
    ScheduledStart.objects.filter(pk__in=list(old)).delete()
    logger.info("a schedule fell due", extra={"crawl": schedule.crawl.name, "outcome": outcome})
    return run


#: the most pages of a run that are compared
COMPARED_AT_MOST = 20_000
#: how many pages of a run and of the run before can be compared, and how many differ. A page
#: without a digest was not read to its end, so it cannot be compared
CHANGES = """
SELECT count(*), count(*) FILTER (WHERE p.unchanged_since IS NULL AND p.digest <> q.digest)
FROM (SELECT url_id, unchanged_since, digest FROM crawling_page
      WHERE run_id = %s AND (status = 200 OR unchanged_since IS NOT NULL) LIMIT %s) p
JOIN crawling_url u ON u.id = p.url_id
JOIN crawling_url o ON o.run_id = %s AND o.fingerprint = u.fingerprint AND o.url = u.url
JOIN crawling_page q ON q.url_id = o.id AND (q.status = 200 OR q.unchanged_since IS NOT NULL)
WHERE p.unchanged_since IS NOT NULL OR (p.digest IS NOT NULL AND q.digest IS NOT NULL)
"""


def follow_changes() -> None:
    """Let schedules that follow the changes of pages start sooner or later. This is done once for
    each run that has ended.
    """
    adapting = Schedule.objects.filter(
        next_at__isnull=False, timing__fastest_minutes__isnull=False, pace_minutes__isnull=False
    )
    ended = Q(crawl__runs__is_latest=True, crawl__runs__state__in=ENDED_STATES)
    due = adapting.filter(ended).exclude(judged_run=F("crawl__runs__pk"))
    for schedule_id in due.values_list("pk", flat=True):
        _follow_changes(schedule_id)


@transaction.atomic
def _follow_changes(schedule_id: int) -> None:
    CrawlJob.objects.select_for_update(of=("self",), no_key=True).filter(
        schedule=schedule_id
    ).first()
    schedule = Schedule.objects.select_related("crawl").filter(pk=schedule_id).first()
    runs = list(schedule.crawl.runs.all()[:2]) if schedule else []
    if schedule is None or not runs or runs[0].pk == schedule.judged_run:
        return
    timing, _ = read_timing(schedule.timing)
    pace = schedule.pace_minutes
    if timing and pace and len(runs) > 1:
        with connection.cursor() as cursor:
            cursor.execute(CHANGES, [runs[0].pk, COMPARED_AT_MOST, runs[1].pk])
            compared, changed = cursor.fetchone()
        pace = next_pace_minutes(timing, pace, compared=compared, changed=changed)
        write(
            runs[0].pk,
            f"{changed:,} of {compared:,} pages changed since run {runs[1].number}; the schedule "
            f"starts the next run after {pace:,} minutes.",
        )
    began = runs[0].created_at + timedelta(minutes=pace or 0)
    Schedule.objects.filter(pk=schedule_id, next_at__isnull=False).update(
        pace_minutes=pace, judged_run=runs[0].pk, next_at=max(began, timezone.now())
    )


def _disable_schedule(schedule: Schedule, due_at: datetime, errors: Mapping[str, str]) -> None:
    """Switch off a schedule that is no longer valid, for example because its time zone was
    abolished.
    """
    told = "; ".join(f"{field} {sentence}" for field, sentence in errors.items())
    ScheduledStart.objects.create(
        schedule=schedule, due_at=due_at, outcome=f"Disabled: {told}."[:300]
    )
    Schedule.objects.filter(pk=schedule.pk).update(
        next_at=None, timing={**schedule.timing, "is_on": False}
    )


def _start_scheduled_run(
    schedule: Schedule, due: DueStart, late: timedelta
) -> tuple[Run | None, str]:
    """Start a run. Return the run, or None, and the sentence about this start in the schedule's
    list.
    """
    by_how_much = f", {_minutes_in_words(late)} late" if late >= timedelta(minutes=1) else ""
    if not due.starts:
        return (
            None,
            f"Missed by {_minutes_in_words(late)}, as no scheduler was running; the schedule "
            "skips what was "
            "missed.",
        )
    try:
        with transaction.atomic():
            run = create_run(schedule.crawl, by=schedule.set_by, by_schedule=True)
    except WrongState:
        latest = schedule.crawl.runs.exclude(state__in=ENDED_STATES).get()
        write(
            latest.pk,
            "Its schedule fell due; no other run is started while this one lasts.",
            level=Level.WARNING,
        )
        return None, f"Skipped: run {latest.number} was {latest.state}."
    except TooManyWait as error:
        return None, f"Skipped: {error}"[:300]
    return run, f"Started run {run.number}{by_how_much}."


def _minutes_in_words(time: timedelta) -> str:
    minutes = int(time.total_seconds() // 60)
    return f"{minutes:,} minute{'' if minutes == 1 else 's'}"
