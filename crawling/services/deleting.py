"""Delete a crawl with everything that its runs left behind."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from crawling.archive.files import remove_abandoned
from crawling.audit import note
from crawling.errors import WrongState
from crawling.models import ArchiveFile, CrawlJob, Run
from crawling.models.jobs import ENDED_STATES
from crawling.services.bank import leave_bank
from crawling.services.removing import drop_shifts, remove_slice


def delete_crawl(crawl: CrawlJob, *, by: User | None) -> None:
    """Delete a draft or a crawl whose runs have ended. Raises WrongState.

    Its processes stay in the bank, finished: the ledger of what was granted outlives the crawl. Archive files go at last, and
    again by the keeper if a crash comes between; those on other machines when a shift begins its archive there.
    """
    for run in crawl.runs.filter(state__in=ENDED_STATES):
        leave_bank(run)  # a crash may have come between a run's end and this; afterwards nobody would know the process
    with transaction.atomic():
        # The lock that starting takes, too: no run begins while its crawl goes.
        locked = CrawlJob.objects.select_for_update().get(pk=crawl.pk)
        alive = locked.runs.exclude(state__in=ENDED_STATES).first()
        if alive:
            raise WrongState(f"{locked.name} is {alive.state}; stop it and wait for its end before deleting it.")
        # Whoever removes a run's rows holds its row; the keeper may be at one.
        runs = list(Run.everything.select_for_update().filter(crawl=locked).order_by("pk").values_list("pk", flat=True))
        note(by, locked, "deleted", {"runs": (len(runs), None), "seeds": (locked.seeds[:10], None)})
        for run_id in runs:
            while remove_slice(run_id):
                pass
        drop_shifts(runs)
        ArchiveFile.objects.filter(run__in=runs).update(run=None)
        locked.delete()
    remove_abandoned()
