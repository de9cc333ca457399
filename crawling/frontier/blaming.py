"""Find the page that kills its worker, so that it does not do so for ever."""

from __future__ import annotations

from django.db import connection

from crawling.frontier.recording import Outcome, record
from crawling.models import Shift, UrlState
from crawling.rules.statuses import FetchStatus, explain

#: losses that may be somebody else's doing: an operator's kill, a machine out of memory, a power cut
MOST_LOSSES = 3

BLAME = """
UPDATE crawling_url SET losses = losses + 1 WHERE shift_id = %s AND state = 'p' RETURNING id, losses
"""


def blame(shift: Shift) -> None:
    """Hold a shift's loss against every URL it had in process; one that has lost too many shifts fails.

    The first loss makes suspects of all of them, guilty or not. A shift takes one suspect at a time, so from then on only
    the guilty one is there at each loss. The caller holds the run's lock.
    """
    with connection.cursor() as cursor:
        cursor.execute(BLAME, [shift.pk])
        guilty = [url_id for url_id, losses in cursor.fetchall() if losses >= MOST_LOSSES]
    sentence = explain(FetchStatus.WORKER_DIED)
    record(shift, [Outcome(url_id, UrlState.FAILED, FetchStatus.WORKER_DIED, sentence) for url_id in guilty], numbers=())
