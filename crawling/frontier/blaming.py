"""Find the page that kills its worker, so that it does not do so for ever."""

from __future__ import annotations

from django.db import connection

from crawling.frontier.outcomes import Outcome
from crawling.frontier.recording import record
from crawling.models import Shift, UrlState
from crawling.rules.statuses import FetchStatus, explain
from crawling.rules.suspects import FAILS_FROM

#: where PostgreSQL itself was started anew meanwhile, the shift was lost with it, and no page is to blame
BLAME = """
UPDATE crawling_url SET losses = losses + 1
WHERE shift_id = %s AND state = 'p' AND pg_postmaster_start_time() < %s RETURNING id, losses
"""


def blame(shift: Shift) -> None:
    """Hold a shift's loss against every URL it had in process; one that has lost too many shifts fails.

    The first loss makes suspects of all of them, guilty or not; `crawling.rules.suspects` says how those are tried. The caller holds the
    run's lock.
    """
    with connection.cursor() as cursor:
        cursor.execute(BLAME, [shift.pk, shift.started_at])
        guilty = [url_id for url_id, losses in cursor.fetchall() if losses >= FAILS_FROM]
    sentence = explain(FetchStatus.WORKER_DIED)
    record(shift, [Outcome(url_id, UrlState.FAILED, FetchStatus.WORKER_DIED, sentence) for url_id in guilty], numbers=())
