"""Restore deleted crawls and runs while their rows are kept, or let those go before their time."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from crawling.audit import note
from crawling.errors import NotFound, WrongState
from crawling.housekeeping.retention_view import references
from crawling.housekeeping.run_removal import remove_rows
from crawling.models import CrawlJob, Run, Schedule
from crawling.orders.schedules import read_timing


@transaction.atomic
def restore_crawl(crawl_id: int, *, by: User | None) -> CrawlJob:
    """Take back the deletion of a crawl, with the runs and the schedule that it had then.

    Raises NotFound, and WrongState where another crawl has its name.
    """
    crawl = _deleted_crawl(crawl_id)
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
    note(by, crawl, "restored", {"runs": (None, count)})
    return crawl


@transaction.atomic
def restore_run(run_id: int, *, by: User | None) -> Run:
    """Take back the deletion of a run. Raises NotFound, and WrongState where it needs another that
    is still deleted.
    """
    run = _deleted_run(run_id)
    needed = [
        number
        for number, needing in references(run.crawl, only=(run.pk,)).items()
        if run.number in needing and not run.crawl.runs.filter(number=number).exists()
    ]
    if needed:
        raise WrongState(
            f"Run {run.number} has unchanged pages in the archive of run {max(needed)}; restore "
            "that one first."
        )
    Run.all_objects.filter(pk=run.pk).update(removal_asked_at=None, restorable_until=None)
    _mark_latest(run.crawl)
    note(by, run.crawl, "restored a run", {"run": (None, run.number)})
    return run


def remove_crawl_now(crawl_id: int, *, name: str, by: User | None) -> None:
    """Delete a deleted crawl for good. Raises NotFound, and WrongState unless its name is given."""
    with transaction.atomic():
        crawl = _deleted_crawl(crawl_id)
        _check_name(name, crawl.name)
        Run.all_objects.filter(crawl=crawl).update(restorable_until=None)
        CrawlJob.all_objects.filter(pk=crawl.pk).update(restorable_until=None)
        note(by, crawl, "deleted for good")
    remove_rows()


def remove_run_now(run_id: int, *, name: str, by: User | None) -> None:
    """Delete a deleted run for good. Raises NotFound, and WrongState unless its name is given, or
    while another that could be restored needs it.
    """
    with transaction.atomic():
        run = _deleted_run(run_id)
        _check_name(name, str(run))
        if needing := references(run.crawl).get(run.number):
            raise WrongState(
                f"Run {max(needing)}, which can be restored, has pages in its archive; delete that "
                "one for good first."
            )
        Run.all_objects.filter(pk=run.pk).update(restorable_until=None)
        note(by, run.crawl, "deleted a run for good", {"run": (run.number, None)})
    remove_rows()


def _deleted_crawl(crawl_id: int) -> CrawlJob:
    crawl = (
        CrawlJob.all_objects.select_for_update(no_key=True)
        .filter(pk=crawl_id, restorable_until__gt=Now())
        .first()
    )
    if crawl is None:
        raise NotFound(f"There is no deleted crawl {crawl_id} that can be restored.")
    return crawl


def _deleted_run(run_id: int) -> Run:
    """Under the lock of its crawl, which must not be deleted itself."""
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
        raise WrongState(f"To delete it for good, give its name: {name}")


def _mark_latest(crawl: CrawlJob) -> None:
    latest = crawl.runs.first()
    if latest and not latest.is_latest:
        crawl.runs.filter(is_latest=True).update(is_latest=False)
        crawl.runs.filter(pk=latest.pk).update(is_latest=True)


def _set_next_start(crawl: CrawlJob) -> None:
    """Let the crawl's schedule count from now."""
    schedule = Schedule.objects.filter(crawl=crawl).first()
    timing = read_timing(schedule.timing)[0] if schedule else None
    if schedule and timing and timing.is_on:
        next_at = next(timing.after(timezone.now(), schedule.anchor_at))
        Schedule.objects.filter(pk=schedule.pk).update(next_at=next_at)
