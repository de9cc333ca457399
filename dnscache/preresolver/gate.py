"""The gate: URLs of a host are claimed only once its name is settled (the reading of SEEDS D1 that
saves most of the wait).

A name is settled if a shift needs no look-up for it: it has a fresh answer, positive or negative;
stale addresses, while no server answers; or it was given up. An answer with TTL 0 is settled for
the few seconds in which the host is claimed.

The gate holds hosts back only while a pre-resolver runs: it opens by itself when the last
pre-resolver stops.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from itertools import count

from dnscache import store
from dnscache.models import DnsEntry
from dnscache.preresolver.plan import GRACE_SECONDS
from dnscache.protocol.answers import LONGEST_STALE_SECONDS, MOST_TRIES
from dnscache.regions.entry import CachedAnswer
from dnscache.resolution import AnswerSource, Resolution, resolution_of

#: the seconds without a heartbeat after which a pre-resolver counts as dead; it sends one every
#: second
ALIVE_SECONDS = 5.0

#: SQL that is true for a settled row `d` of dnscache_dnsentry, for a claim query to join
IS_SETTLED = f"""(
    d.expires_at > statement_timestamp()
    OR (d.fails = 0 AND d.resolved_at > statement_timestamp() - interval '{GRACE_SECONDS} s')
    OR (d.retry_at > statement_timestamp() AND d.status = 'ok'
        AND d.expires_at > statement_timestamp() - interval '{LONGEST_STALE_SECONDS} s')
    OR (d.retry_at > statement_timestamp() AND d.fails >= {MOST_TRIES})
)"""


#: SQL that is true while a pre-resolver lives
IS_KEPT = (
    "EXISTS (SELECT FROM dnscache_dnspreresolver WHERE beat_at > statement_timestamp() - "
    f"interval '{ALIVE_SECONDS} s')"
)

_turns = count()


def settled_answers(names: Collection[str]) -> dict[str, Resolution]:
    """The answers of those canonical names that are settled, by PostgreSQL's clock and one query.

    Addresses past their TTL that were just looked up (TTL 0) are good for this use; others past it
    are marked `stale`.
    """
    if not names:
        return {}
    rows = DnsEntry.objects.raw(
        f"SELECT * FROM dnscache_dnsentry d WHERE name = ANY(%s) AND {IS_SETTLED}",  # noqa: S608
        [list(names)],
    )
    now, turn = time.time(), next(_turns)
    entries = [CachedAnswer(store.answer_of(row), now=now) for row in rows]
    return {
        entry.name: resolution_of(
            entry, AnswerSource.DATABASE, now=now, waited=0.0, turn=turn, just_asked=True
        )
        for entry in entries
    }
