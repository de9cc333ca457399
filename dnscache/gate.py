"""The gate: a host is worth a fetcher's time once its name is settled (the reading of SEEDS D1 that recovers most of the wait).

Settled is what a shift may use without asking anybody: a fresh answer, an alive or a dead one, since a dead name fails its URLs
without a fetch slot; addresses served stale while nobody answers; a name given up; and an answer with hardly a life of its own
(TTL 0) for the few seconds in which the host is claimed.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from dnscache.ahead.plan import GRACE_SECONDS
from dnscache.answers import LONGEST_STALE_SECONDS, MOST_TRIES

#: SQL that is true of a settled row `d` of dnscache_dnsentry, for a claim query to join
IS_SETTLED = f"""(
    d.expires_at > now()
    OR (d.fails = 0 AND d.resolved_at > now() - interval '{GRACE_SECONDS} s')
    OR (d.retry_at > now() AND d.status = 'ok' AND d.expires_at > now() - interval '{LONGEST_STALE_SECONDS} s')
    OR (d.retry_at > now() AND d.fails >= {MOST_TRIES})
)"""


def settled(names: Collection[str]) -> set[str]:
    """Return those of the canonical names that are settled, by PostgreSQL's clock."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT name FROM dnscache_dnsentry d WHERE name = ANY(%s) AND {IS_SETTLED}", [list(names)])  # noqa: S608
        return {name for (name,) in cursor}
