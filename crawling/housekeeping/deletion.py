"""Delete a crawl with everything that its runs left behind: hidden at once, its rows removed as
those of single runs, unless it is restored before (`crawling.housekeeping.restoration`).
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from crawling.audit import note
from crawling.errors import WrongState
from crawling.housekeeping.run_removal import remove_rows
from crawling.models import CrawlJob, Run, Schedule
from crawling.models.deleted import RESTORABLE
from crawling.models.jobs import ENDED_STATES
from crawling.runs.grants import leave_bank


def delete_crawl(crawl: CrawlJob, *, by: User | None, for_good: bool = False) -> None:
    """Delete a draft or a crawl whose runs have ended. Its rows go after RESTORABLE; for good they
    go at once, or as soon as the scheduler gets to what is left. Raises WrongState.

    Its processes stay in the pool, finished: the ledger of what was granted outlives the crawl.
    Archive files on other machines go when a shift begins its archive there.
    """
    ask_deletion(crawl, by=by, for_good=for_good)
    if for_good:
        remove_rows()


def ask_deletion(crawl: CrawlJob, *, by: User | None, for_good: bool = False) -> None:
    """Hide a crawl from all users and free its name; its rows and files are removed later.

    Raises WrongState.
    """
    for run in crawl.runs.filter(state__in=ENDED_STATES):
        # a crash may have come between a run's end and this; afterwards the process could not be
        # found
        leave_bank(run)
    with transaction.atomic():
        # The lock that starting takes, too: no run begins while its crawl goes.
        locked = CrawlJob.objects.select_for_update(no_key=True).filter(pk=crawl.pk).first()
        if locked is None:
            return
        alive = locked.runs.exclude(state__in=ENDED_STATES).first()
        if alive:
            raise WrongState(
                f"{locked.name} is {alive.state}; stop it and wait for its end before deleting it."
            )
        note(
            by,
            locked,
            "deleted",
            {"runs": (locked.runs.count(), None), "seeds": (locked.seeds[:10], None)},
        )
        Schedule.objects.filter(crawl=locked).update(next_at=None)
        now = timezone.now()
        until = None if for_good else now + RESTORABLE
        # Runs that were deleted before keep their time of deletion, which distinguishes them.
        Run.objects.filter(crawl=locked).update(
            removal_asked_at=now, restorable_until=until, is_latest=False
        )
        CrawlJob.objects.filter(pk=crawl.pk).update(
            removal_asked_at=now, restorable_until=until, idempotency_key=""
        )
