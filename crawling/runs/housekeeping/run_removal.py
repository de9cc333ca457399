"""Delete runs. They are hidden at once. After the time in which they can be restored, their rows
are removed slice by slice, so that no request takes long. Crawls without runs are removed last.

After a crash the scheduler continues, since the run's own row records the progress.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from crawling.archive.files import remove_abandoned
from crawling.base.audit import record_action
from crawling.base.errors import WrongState
from crawling.datasets.parts import remove_abandoned_parts
from crawling.jobs.kinds import JobEvent
from crawling.jobs.removal import delete_jobs_after_event, remove_deleted_jobs
from crawling.models import ArchiveFile, CrawlJob, LinksPart, Run, RunProcess
from crawling.models.deleted import RESTORABLE
from crawling.models.jobs import ENDED_STATES
from crawling.runs.grants import leave_pool
from crawling.runs.housekeeping.retention_view import (
    deletion_loss,
    other_crawls_sentence,
    runs_needed_by_others,
)

#: the rows of a slice, which takes some tens of milliseconds
SLICE = 5_000
#: the seconds of a turn, since the scheduler's other duties wait meanwhile
SECONDS = 0.5

#: In the order of the references between these rows. Hosts are shared and stay. A host that was
#: leased to a lost shift rests until the lease ends.
BY_SLICES = (
    ("crawling_extractedrow", "id"),
    ("crawling_page", "url_id"),
    ("crawling_furtherrecord", "id"),
    ("crawling_withdrawnpage", "id"),
    ("crawling_pagetargets", "url_id"),
    ("crawling_url", "id"),
    ("crawling_verdict", "id"),
    ("crawling_trappattern", "id"),
    ("crawling_logline", "id"),
    ("crawling_cookiejar", "id"),
    ("crawling_ownrobotsfile", "id"),
    ("crawling_hostqueue", "id"),
    ("crawling_runcount", "id"),
)
#: deleted runs whose time for restoring is over
DUE = Q(removal_asked_at__isnull=False) & (
    Q(restorable_until=None) | Q(restorable_until__lte=Now())
)
#: A shift of another crawl that began before the deletion may still refer to payloads of the run.
#: The minute allows for a deletion that was not committed when that shift began.
MAY_BE_NEEDED = """
SELECT EXISTS (
    SELECT FROM crawling_shift s JOIN crawling_runprocess p ON p.id = s.process_id
    JOIN crawling_run r ON r.id = p.run_id JOIN crawling_crawljob c ON c.id = r.crawl_id
    WHERE s.ended_at IS NULL AND c.reuse ->> 'deduplicate' = 'all' AND c.id <> %(crawl)s
        AND s.started_at < %(asked_at)s + interval '1 minute'
)
"""
FREE_HOSTS = """
UPDATE crawling_host h SET shift_id = NULL, lease_until = NULL,
    due_at = greatest(h.due_at, h.lease_until + make_interval(secs => h.delay_seconds))
FROM crawling_shift s JOIN crawling_runprocess p ON p.id = s.process_id
WHERE s.id = h.shift_id AND p.run_id = ANY(%s)
"""
DROP_SHIFTS = (
    "DELETE FROM crawling_shift s USING crawling_runprocess p WHERE p.id = s.process_id "
    "AND p.run_id = ANY(%s)"
)


def removal_obstacle(run: Run, *, restorable: bool = False) -> str:
    """The reason why a run may not be deleted, and the remedy; empty if it may be.

    restorable: whether deleted runs that may be restored count, too.
    """
    alive = run.crawl.runs.exclude(state__in=ENDED_STATES).first()
    if alive and alive.pk == run.pk:
        return f"Run {run.number} is {run.state}; stop it and wait for its end before deleting it."
    if alive:
        return (
            f"Run {alive.number} is {alive.state} and may come to need what run {run.number} "
            "has; wait for its end."
        )
    needing = runs_needed_by_others(run.crawl, restorable=restorable).get(run.number, {})
    if needing:
        first, pages = max(needing.items())
        return (
            f"The archive of run {run.number} holds the payload of {pages:,} "
            f"page{'' if pages == 1 else 's'} of run {first}; delete run {first} first, or keep "
            "both."
        )
    return other_crawls_sentence([run.pk])


def remove_run(run: Run, *, by: User | None, for_good: bool = False) -> None:
    """Delete a run that has ended and that no other run needs. Its rows are removed after
    RESTORABLE. With `for_good` removal begins at once, and the scheduler continues it. Raises
    WrongState.
    """
    request_removal(run, by=by, for_good=for_good)
    if for_good:
        remove_rows()


def request_removal(
    run: Run, *, by: User | None, because: str = "", for_good: bool = False
) -> None:
    """Hide a run from all users. Its rows and files are removed later.

    Raises WrongState.
    """
    if run.state in ENDED_STATES:
        # the run's processes leave the pool: a crash may have prevented this at its end, and later
        # they could not be found
        leave_pool(run)
    with transaction.atomic():
        # starting a run takes the same lock, so no run that needs this one begins while this one is
        # deleted
        crawl = CrawlJob.objects.select_for_update(no_key=True).get(pk=run.crawl_id)
        locked = (
            Run.objects.select_for_update(no_key=True)
            .select_related("crawl")
            .filter(pk=run.pk)
            .first()
        )
        if locked is None:
            return
        if trouble := removal_obstacle(locked, restorable=for_good):
            raise WrongState(trouble)
        loss = deletion_loss([run.pk])
        gone = {
            "run": (run.number, None),
            "pages": (loss.pages, None),
            "bytes of archive": (loss.file_bytes, None),
        }
        record_action(
            by, crawl, "deleted a run", gone | ({"because": (None, because)} if because else {})
        )
        _hide_run(crawl, run, for_good=for_good)


def _hide_run(crawl: CrawlJob, run: Run, *, for_good: bool) -> None:
    """Hide the run. The run before it is then the latest, and no later run gets the number of the
    hidden run.
    """
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(
        removal_asked_at=now,
        restorable_until=None if for_good else now + RESTORABLE,
        is_latest=False,
    )
    latest = crawl.runs.first()
    if latest and not latest.is_latest:
        crawl.runs.filter(pk=latest.pk).update(is_latest=True)
    CrawlJob.objects.filter(pk=crawl.pk, spent_numbers__lt=run.number).update(
        spent_numbers=run.number
    )


def remove_rows(*, seconds: float = SECONDS) -> bool:
    """Continue to remove rows and files of deleted runs, for `seconds`. Return whether all that can
    be removed now is removed. Runs that another process removes, or that another crawl may need, do
    not count.

    Safe to repeat, and to call in several processes at once.
    """
    # Crawls first: the next turn finds the runs of a crawl that is deleted after this line.
    crawls = list(CrawlJob.all_objects.filter(DUE).values_list("pk", flat=True))
    until, is_all = time.monotonic() + seconds, True
    for run_id in (
        Run.all_objects.filter(DUE).order_by("removal_asked_at").values_list("pk", flat=True)
    ):
        while (has_more := _remove_slice(run_id)) and time.monotonic() < until:
            pass
        is_all = is_all and not has_more
    for crawl in crawls:
        _drop_crawl(crawl)
    remove_abandoned()
    remove_abandoned_parts()
    remove_deleted_jobs()
    return is_all


@transaction.atomic
def _remove_slice(run_id: int) -> bool | None:
    """Remove a slice of a deleted run's rows, and after the last slice the run itself. Return
    whether there is more to remove, or None if another process removes the run or another crawl may
    need it.

    The run's row is locked: otherwise each of two concurrent removals could take the slice of the
    other for the last one.
    """
    runs = Run.all_objects.select_for_update(skip_locked=True, of=("self",))
    run = runs.select_related("crawl").filter(pk=run_id).first()
    if run is None or _may_have_needed_payloads(run):
        return None
    if remove_slice(run_id):
        return True
    drop_shifts([run_id])
    # files are removed after the run's row, since the rows of files are their only record until
    # then
    ArchiveFile.objects.filter(run=run).update(run=None)
    LinksPart.objects.filter(run=run).update(run=None)
    delete_jobs_after_event(JobEvent.DELETED, [run_id])
    run.delete()
    return False


def _may_have_needed_payloads(run: Run) -> bool:
    """Whether another crawl has payloads in the run's archive, or may come to have some."""
    if run.crawl.order.reuse.deduplicate != "all":
        return False
    with connection.cursor() as cursor:
        asked = {"crawl": run.crawl_id, "asked_at": run.removal_asked_at}
        cursor.execute(MAY_BE_NEEDED, asked)
        return bool(cursor.fetchone()[0] or other_crawls_sentence([run.pk]))


@transaction.atomic
def _drop_crawl(crawl_id: int) -> None:
    """Remove a deleted crawl all of whose runs are removed."""
    if Run.all_objects.filter(crawl=crawl_id).exists():
        return
    crawl = CrawlJob.all_objects.select_for_update(skip_locked=True).filter(pk=crawl_id).first()
    if crawl is not None:
        crawl.delete()


def remove_slice(run: int) -> int:
    """Remove some rows of the run from the first table that still has rows of it. Return their
    number.
    """
    with connection.cursor() as cursor:
        for table, key in BY_SLICES:
            # constants
            some = f"SELECT {key} FROM {table} WHERE run_id = %s LIMIT {SLICE}"  # noqa: S608
            # constants
            cursor.execute(f"DELETE FROM {table} WHERE {key} = ANY(ARRAY({some}))", [run])  # noqa: S608
            if removed := int(cursor.rowcount):
                return removed
    return 0


def drop_shifts(runs: Collection[int]) -> None:
    """Remove the shifts and processes of runs. To be called after their URLs are removed."""
    with connection.cursor() as cursor:
        cursor.execute(FREE_HOSTS, [list(runs)])
        cursor.execute(DROP_SHIFTS, [list(runs)])
    RunProcess.objects.filter(run__in=runs).delete()
