"""Rank the waiting URLs of a run again after its weights were edited: batch by batch, so that
fetching goes on meanwhile.
"""

from __future__ import annotations

from django.db import connection

from crawling.frontier.admit.credits import ranking_of
from crawling.frontier.run_lock import locked_run
from crawling.models import Reranking, UrlState

#: rows looked at in one transaction
BATCH = 5_000
LOWEST, HIGHEST = -(2**63), 2**63 - 1

#: in the order of the one index that has all of a run's URLs and never changes; rows that are done
#: are passed over in time, too
SOME = f"""
SELECT id, url, depth, coalesce(backlinks, 0), fingerprint,
    state IN ('{UrlState.QUEUED}', '{UrlState.IN_PROCESS}', '{UrlState.QUARANTINED}')
FROM crawling_url
WHERE run_id = %s AND fingerprint >= %s ORDER BY fingerprint LIMIT %s
"""  # noqa: S608 - the states are constants

RANK = """
UPDATE crawling_url u SET rank = new.rank
FROM unnest(%s::bigint[], %s::float8[]) AS new(id, rank) WHERE u.id = new.id AND u.rank <> new.rank
"""


def begin_reranking(run_id: int) -> None:
    """Have all waiting URLs ranked again by the weights that the caller's transaction writes; URLs
    that are queued later have them already.

    The caller holds the run's lock.
    """
    Reranking.objects.update_or_create(run_id=run_id, defaults={"fingerprint": LOWEST})


def rank_some(run_id: int) -> bool:
    """Rank the next batch; whether more are left."""
    with locked_run(run_id) as run, connection.cursor() as cursor:
        place = Reranking.objects.filter(run=run).first()
        if place is None:
            return False
        cursor.execute(SOME, [run_id, place.fingerprint, BATCH])
        rows = cursor.fetchall()
        ranking = ranking_of(run)
        ranks = {
            key: ranking.rank(url, depth, links)
            for key, url, depth, links, _, is_unfinished in rows
            if is_unfinished
        }
        cursor.execute(RANK, [list(ranks), list(ranks.values())])
        if len(rows) < BATCH or rows[-1][4] == HIGHEST:
            place.delete()
            return False
        place.fingerprint = rows[-1][4] + 1
        place.save()
    return True
