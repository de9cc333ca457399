"""Delete a crawl with all rows and files of its runs. The crawl is hidden at once, and its rows are
removed like those of single runs, unless it is restored before. Deleted crawls and runs can be
restored while their rows are kept. An operator may also remove them permanently before that time is
over.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import NotFound, WrongState
from crawling.models import CrawlJob, Run, Schedule
from crawling.models.deleted import RESTORABLE
from crawling.models.jobs import ENDED_STATES
from crawling.orders.schedules import read_timing
from crawling.runs.grants import leave_pool
from crawling.runs.housekeeping.retention_view import other_crawls_sentence, runs_needed_by_others
from crawling.runs.housekeeping.run_removal import remove_rows


def delete_crawl(crawl: CrawlJob, *, by: User | None, for_good: bool = False) -> None:
    """Delete a draft or a crawl whose runs have ended. Its rows are removed after RESTORABLE. With
    `for_good` removal begins at once, and the scheduler continues it. Raises WrongState.

    Its processes stay in the pool as finished ones, since the ledger of grants outlives the crawl.
    Archive files on other machines are removed when a shift begins its archive there.
    """
    request_deletion(crawl, by=by, for_good=for_good)
    if for_good:
        remove_rows()


def request_deletion(crawl: CrawlJob, *, by: User | None, for_good: bool = False) -> None:
    """Hide a crawl from all users and free its name. Its rows and files are removed later.

    Raises WrongState.
    """
    for run in crawl.runs.filter(state__in=ENDED_STATES):
        # the run's processes leave the pool: a crash may have prevented this at its end, and later
        # they could not be found
        leave_pool(run)
    with transaction.atomic():
        # starting a run takes the same lock, so no run begins while its crawl is deleted
        locked = CrawlJob.objects.select_for_update(no_key=True).filter(pk=crawl.pk).first()
        if locked is None:
            return
        alive = locked.runs.exclude(state__in=ENDED_STATES).first()
        if alive:
            raise WrongState(
                f"{locked.name} is {alive.state}; stop it and wait for its end before deleting it."
            )
        if trouble := other_crawls_sentence(locked.runs.values_list("pk", flat=True)):
            raise WrongState(trouble)
        record_action(
            by,
            locked,
            "deleted",
            {"runs": (locked.runs.count(), None), "seeds": (locked.seeds[:10], None)},
        )
        Schedule.objects.filter(crawl=locked).update(next_at=None)
        now = timezone.now()
        until = None if for_good else now + RESTORABLE
        # Runs that were deleted before keep their own time of deletion, which distinguishes them.
        Run.objects.filter(crawl=locked).update(
            removal_asked_at=now, restorable_until=until, is_latest=False
        )
        CrawlJob.objects.filter(pk=crawl.pk).update(
            removal_asked_at=now, restorable_until=until, idempotency_key=""
        )


@transaction.atomic
def restore_crawl(crawl_id: int, *, by: User | None) -> CrawlJob:
    """Undo the deletion of a crawl, with the runs and the schedule that it had then.

    Raises NotFound, and WrongState if another crawl has its name.
    """
    crawl = _lock_deleted_crawl(crawl_id)
    runs = Run.all_objects.filter(crawl=crawl, removal_asked_at=crawl.removal_asked_at)
    count = runs.update(removal_asked_at=None, restorable_until=None)
    crawl.removal_asked_at = crawl.restorable_until = None
    try:
        with transaction.atomic():
            crawl.save(update_fields=["removal_asked_at", "restorable_until"])
    except IntegrityError as error:
        raise WrongState(
            f"There is a crawl named {crawl.name!r} again; rename or delete that one first."
        ) from error
    _mark_latest(crawl)
    _set_next_start(crawl)
    record_action(by, crawl, "restored", {"runs": (None, count)})
    return crawl


@transaction.atomic
def restore_run(run_id: int, *, by: User | None) -> Run:
    """Undo the deletion of a run. Raises NotFound, and WrongState if the run needs another run that
    is still deleted.
    """
    run = _lock_deleted_run(run_id)
    needed = [
        number
        for number, needing in runs_needed_by_others(run.crawl, only=(run.pk,)).items()
        if run.number in needing and not run.crawl.runs.filter(number=number).exists()
    ]
    if needed:
        raise WrongState(
            f"Run {run.number} has payloads in the archive of run {max(needed)}; restore that one "
            "first."
        )
    Run.all_objects.filter(pk=run.pk).update(removal_asked_at=None, restorable_until=None)
    _mark_latest(run.crawl)
    record_action(by, run.crawl, "restored a run", {"run": (None, run.number)})
    return run


def remove_crawl_now(crawl_id: int, *, name: str, by: User | None) -> None:
    """Remove a deleted crawl permanently. Raises NotFound, and WrongState if `name` is not its
    name.
    """
    with transaction.atomic():
        crawl = _lock_deleted_crawl(crawl_id)
        _check_name(name, crawl.name)
        Run.all_objects.filter(crawl=crawl).update(restorable_until=None)
        CrawlJob.all_objects.filter(pk=crawl.pk).update(restorable_until=None)
        record_action(by, crawl, "deleted permanently")
    remove_rows()


def remove_run_now(run_id: int, *, name: str, by: User | None) -> None:
    """Remove a deleted run permanently. Raises NotFound, and WrongState if `name` is not its name,
    or while another run that could be restored needs it.
    """
    with transaction.atomic():
        run = _lock_deleted_run(run_id)
        _check_name(name, str(run))
        if needing := runs_needed_by_others(run.crawl).get(run.number):
            raise WrongState(
                f"Run {max(needing)}, which can be restored, has payloads in its archive; delete "
                "that one for good first."
            )
        Run.all_objects.filter(pk=run.pk).update(restorable_until=None)
        record_action(by, run.crawl, "deleted a run permanently", {"run": (run.number, None)})
    remove_rows()


def _lock_deleted_crawl(crawl_id: int) -> CrawlJob:
    crawl = (
        CrawlJob.all_objects.select_for_update(no_key=True)
        .filter(pk=crawl_id, restorable_until__gt=Now())
        .first()
    )
    if crawl is None:
        raise NotFound(f"There is no deleted crawl {crawl_id} that can be restored.")
    return crawl


def _lock_deleted_run(run_id: int) -> Run:
    """The run, which is deleted and can be restored. Its crawl is locked. Raises NotFound, also if
    the crawl is deleted.
    """
    run = Run.all_objects.filter(pk=run_id).first()
    crawl = run and CrawlJob.objects.select_for_update(no_key=True).filter(pk=run.crawl_id).first()
    found = (
        Run.all_objects.filter(pk=run_id, crawl=crawl, restorable_until__gt=Now()).first()
        if crawl
        else None
    )
    if found is None:
        raise NotFound(f"There is no deleted run {run_id} that can be restored.")
    return found


def _check_name(given: str, name: str) -> None:
    if given != name:
        raise WrongState(f"To delete it permanently, give its name: {name}")


def _mark_latest(crawl: CrawlJob) -> None:
    latest = crawl.runs.first()
    if latest and not latest.is_latest:
        crawl.runs.filter(is_latest=True).update(is_latest=False)
        crawl.runs.filter(pk=latest.pk).update(is_latest=True)


def _set_next_start(crawl: CrawlJob) -> None:
    """Let the interval of the crawl's schedule begin now."""
    schedule = Schedule.objects.filter(crawl=crawl).first()
    timing = read_timing(schedule.timing)[0] if schedule else None
    if schedule and timing and timing.is_on:
        next_at = next(timing.times_after(timezone.now(), schedule.anchor_at))
        Schedule.objects.filter(pk=schedule.pk).update(next_at=next_at)
