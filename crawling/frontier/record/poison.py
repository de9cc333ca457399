"""Find the page that kills its worker, so that it does not kill one worker after the other."""

from __future__ import annotations

from django.db import connection

from crawling.frontier.record.outcome_writer import record_batch
from crawling.frontier.rules.poison_suspects import FAILS_FROM, PoisonSuspects
from crawling.frontier.types import UrlOutcome
from crawling.models import Shift, UrlState
from crawling.web.statuses import FetchStatus, status_sentence

#: if PostgreSQL itself restarted meanwhile, it ended the shift, and no page is to blame
BLAME = f"""
UPDATE crawling_url SET losses = losses + %(losses)s
WHERE shift_id = %(shift)s AND state = '{UrlState.IN_PROCESS}'
    AND (%(ids)s::bigint[] IS NULL OR id = ANY(%(ids)s))
  AND pg_postmaster_start_time() < %(began)s
RETURNING id, losses
"""  # noqa: S608 - the states are constants


def mark_poison_suspects(shift: Shift, blame: PoisonSuspects) -> None:
    """Count a shift's loss against URLs that it had in process. A URL that has cost too many shifts
    fails.

    `crawling.frontier.rules.poison_suspects` says how the others are tried. The caller holds the
    run's lock.
    """
    ids = None if blame.url_ids is None else list(blame.url_ids)
    with connection.cursor() as cursor:
        cursor.execute(
            BLAME,
            {"shift": shift.pk, "began": shift.started_at, "ids": ids, "losses": blame.losses},
        )
        guilty = [url_id for url_id, losses in cursor.fetchall() if losses >= FAILS_FROM]
    sentence = status_sentence(FetchStatus.WORKER_DIED)
    record_batch(
        shift,
        [
            UrlOutcome(url_id, UrlState.FAILED, FetchStatus.WORKER_DIED, sentence)
            for url_id in guilty
        ],
        numbers=(),
    )
