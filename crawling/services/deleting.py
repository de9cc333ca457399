"""Delete a crawl with everything that its runs left behind."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import connection, transaction

from crawling.archive.files import remove_abandoned
from crawling.audit import note
from crawling.errors import WrongState
from crawling.models import CrawlJob
from crawling.models.jobs import ENDED_STATES
from crawling.services.bank import leave_bank

#: In the order of the references between them. Hosts are everybody's and stay; one that a lost shift had leased stays quiet for as long.
SWEEP = (
    "DELETE FROM crawling_page WHERE run_id = ANY(%s)",
    "DELETE FROM crawling_url WHERE run_id = ANY(%s)",
    "DELETE FROM crawling_cookiejar WHERE run_id = ANY(%s)",
    "DELETE FROM crawling_hostqueue WHERE run_id = ANY(%s)",
    "DELETE FROM crawling_runcount WHERE run_id = ANY(%s)",
    "DELETE FROM crawling_logline WHERE run_id = ANY(%s)",
    """
    UPDATE crawling_host h SET shift_id = NULL, lease_until = NULL,
        due_at = greatest(h.due_at, h.lease_until + make_interval(secs => h.delay_seconds))
    FROM crawling_shift s JOIN crawling_runprocess p ON p.id = s.process_id WHERE s.id = h.shift_id AND p.run_id = ANY(%s)
    """,
    "DELETE FROM crawling_shift s USING crawling_runprocess p WHERE p.id = s.process_id AND p.run_id = ANY(%s)",
    "DELETE FROM crawling_runprocess WHERE run_id = ANY(%s)",
    # Files go after the rows; until then these rows say which.
    "UPDATE crawling_archivefile SET run_id = NULL WHERE run_id = ANY(%s)",
)


def delete_crawl(crawl: CrawlJob, *, by: User | None) -> None:
    """Delete a draft or a crawl whose runs have ended. Raises WrongState.

    Its processes stay in the bank, finished: the ledger of what was granted outlives the crawl. Archive files on other machines go
    when a shift begins its archive there, or a crawl is deleted there.
    """
    for run in crawl.runs.filter(state__in=ENDED_STATES):
        leave_bank(run)  # a crash may have come between a run's end and this; afterwards nobody would know the process
    with transaction.atomic():
        # The lock that starting takes, too: no run begins while its crawl goes.
        locked = CrawlJob.objects.select_for_update().get(pk=crawl.pk)
        alive = locked.runs.exclude(state__in=ENDED_STATES).first()
        if alive:
            raise WrongState(f"{locked.name} is {alive.state}; stop it and wait for its end before deleting it.")
        runs = list(locked.runs.values_list("pk", flat=True))
        note(by, locked, "deleted", {"runs": (len(runs), None), "seeds": (locked.seeds[:10], None)})
        with connection.cursor() as cursor:
            for statement in SWEEP:
                cursor.execute(statement, [runs])
        locked.runs.all().delete()
        locked.delete()
    remove_abandoned()
