"""The changes that a link makes to a known URL: it may be nearer, and gain by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.types import Candidate
from crawling.models import UrlState
from crawling.orders.ranking import Order, Ranking
from crawling.orders.sections.reuse import MOST_DAYS
from crawling.web.addresses import fingerprint

#: it is now said to be found on the page from which the way to it is shortest
SHORTEN = """
UPDATE crawling_url u SET depth = short.depth, via = short.via, redirects = short.redirects,
    rank = coalesce(short.rank, u.rank), nesting = greatest(u.nesting, short.nesting)
FROM unnest(%s::bigint[], %s::int[], %s::bigint[], %s::int[], %s::float8[], %s::int[])
    AS short(fingerprint, depth, via, redirects, rank, nesting)
WHERE u.run_id = %s AND u.fingerprint = short.fingerprint
"""

#: in best-first what is gained are links
GAIN = """
UPDATE crawling_url u SET rank = u.rank - %s * more.gain,
    backlinks = u.backlinks + CASE WHEN %s THEN more.gain ELSE 0 END
FROM unnest(%s::bigint[], %s::float8[]) AS more(fingerprint, gain)
WHERE u.run_id = %s AND u.fingerprint = more.fingerprint
"""

#: in a focused crawl the most similar link counts
LIFT = """
UPDATE crawling_url u SET rank = -more.gain
FROM unnest(%s::bigint[], %s::float8[]) AS more(fingerprint, gain)
WHERE u.run_id = %s AND u.fingerprint = more.fingerprint AND u.rank > -more.gain
"""

#: of two URLs with one fingerprint only that at its own place is counted on
ADD_LINKS = """
UPDATE crawling_url u SET backlinks = coalesce(u.backlinks, 0) + more.n
FROM unnest(%s::bigint[], %s::text[], %s::int[]) AS more(fingerprint, url, n)
WHERE u.run_id = %s AND u.fingerprint = more.fingerprint AND u.url = more.url
"""

#: of two URLs with one fingerprint only that at its own place is noted
NOTE_MODIFIED = """
UPDATE crawling_url u SET modified_at = stated.at
FROM unnest(%s::bigint[], %s::text[], %s::timestamptz[]) AS stated(fingerprint, url, at)
WHERE u.run_id = %s AND u.fingerprint = stated.fingerprint AND u.url = stated.url
    AND stated.at BETWEEN clock_timestamp() - make_interval(days => %s) AND clock_timestamp()
"""

#: One that was fetched, or is in process, is as near as the shortest way to it; its targets are
#: told by `crawling.frontier.admit.depths`.
BRING_NEARER = """
WITH nearer AS (
    UPDATE crawling_url u SET depth = short.depth, via = short.via, redirects = short.redirects
    FROM unnest(%s::bigint[], %s::int[], %s::bigint[], %s::int[])
        AS short(fingerprint, depth, via, redirects)
    WHERE u.run_id = %s AND u.fingerprint = short.fingerprint AND u.depth > short.depth
    RETURNING u.id
)
UPDATE crawling_pagetargets t SET is_behind = true FROM nearer WHERE t.url_id = nearer.id
"""

WAITING = {UrlState.QUEUED, UrlState.QUARANTINED}
#: a URL in process may be tried again, and OPIC spends its credit when it is done
UNFINISHED = WAITING | {UrlState.IN_PROCESS}


class Rediscovery(NamedTuple):
    """A candidate and what the row of its URL says."""

    fingerprint: int
    candidate: Candidate
    depth: int
    state: str


def update_known_urls(
    cursor: CursorWrapper,
    run_id: int,
    ranking: Ranking,
    met: Sequence[Rediscovery],
    gains: dict[str, float],
) -> None:
    """Let the least depth count, and let gains be received. The caller holds the run's lock."""
    nearer = [row for row in met if row.candidate.depth < row.depth]
    if shorter := [row for row in nearer if row.state in WAITING]:
        ranks = [
            None
            if ranking.counts_links
            else ranking.rank(row.candidate.address.url, row.candidate.depth, 0.0)
            for row in shorter
        ]
        nestings = [row.candidate.nesting for row in shorter]
        cursor.execute(SHORTEN, [*_columns(shorter), ranks, nestings, run_id])
    if done := [row for row in nearer if row.state not in WAITING]:
        cursor.execute(BRING_NEARER, [*_columns(done), run_id])
    received = {
        row.fingerprint: gain
        for row in met
        if row.state in UNFINISHED and (gain := gains.pop(row.candidate.address.url, 0.0))
    }
    if received and ranking.order == Order.FOCUSED:
        cursor.execute(LIFT, [list(received), list(received.values()), run_id])
    elif received:
        is_best_first = ranking.order == Order.BEST_FIRST
        cursor.execute(
            GAIN,
            [ranking.step, is_best_first, list(received), list(received.values()), run_id],
        )


def _columns(rows: Sequence[Rediscovery]) -> list[list[int | None]]:
    """Fingerprints, and the shorter ways."""
    return [
        [row.fingerprint for row in rows],
        [row.candidate.depth for row in rows],
        [row.candidate.via for row in rows],
        [row.candidate.redirects for row in rows],
    ]


def add_links(run_id: int, links: Mapping[str, int]) -> None:
    """Count links to URLs that the run has. The caller holds the run's lock."""
    marks = {fingerprint(url): url for url in links}
    counts = [links[url] for url in marks.values()]
    with connection.cursor() as cursor:
        cursor.execute(ADD_LINKS, [list(marks), list(marks.values()), counts, run_id])


def note_modified(cursor: CursorWrapper, run_id: int, stated: Mapping[str, datetime]) -> None:
    """Note when URLs of the run were changed last, as a sitemap states; moments that no visit can
    depend on, because they are to come or long past, are passed over. The caller holds the run's
    lock.
    """
    marks = {fingerprint(url): url for url in stated}
    moments = [stated[url] for url in marks.values()]
    cursor.execute(NOTE_MODIFIED, [list(marks), list(marks.values()), moments, run_id, MOST_DAYS])
