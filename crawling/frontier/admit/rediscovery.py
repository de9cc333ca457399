"""The effects of a link to a known URL: the URL may come nearer, and may gain by the link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.sql_rows import SentRows
from crawling.frontier.types import Candidate
from crawling.models import UrlState
from crawling.orders.ranking import Order, Ranking
from crawling.orders.sections.reuse import MOST_DAYS
from crawling.web.addresses import fingerprint


class UrlPath(NamedTuple):
    """A shorter path to a URL, with its new rank, or None if it keeps its own."""

    fingerprint: int
    depth: int
    via: int | None
    redirects: int
    nesting: int
    rank: float | None


SHORTER = SentRows("short", UrlPath)
#: The referrer becomes the page with the shortest path to the URL.
SHORTEN = f"""
UPDATE crawling_url u SET depth = short.depth, via = short.via, redirects = short.redirects,
    rank = coalesce(short.rank, u.rank), nesting = greatest(u.nesting, short.nesting)
FROM {SHORTER} WHERE u.run_id = %(run)s AND u.fingerprint = short.fingerprint
"""  # noqa: S608  # constants


class RankChange(NamedTuple):
    fingerprint: int
    gain: float


GAINS = SentRows("more", RankChange)
#: in best-first, gains are numbers of links
GAIN = f"""
UPDATE crawling_url u SET rank = u.rank - %(step)s * more.gain,
    backlinks = u.backlinks + CASE WHEN %(are_links)s THEN more.gain ELSE 0 END
FROM {GAINS} WHERE u.run_id = %(run)s AND u.fingerprint = more.fingerprint
"""  # noqa: S608  # constants

#: in a focused crawl the most similar link counts
LIFT = f"""
UPDATE crawling_url u SET rank = -more.gain
FROM {GAINS}
WHERE u.run_id = %(run)s AND u.fingerprint = more.fingerprint AND u.rank > -more.gain
"""  # noqa: S608  # constants


class LinkCount(NamedTuple):
    fingerprint: int
    url: str
    n: int


MORE_LINKS = SentRows("more", LinkCount)
#: If two URLs have one fingerprint, only the URL that is stored under it is counted.
ADD_LINKS = f"""
UPDATE crawling_url u SET backlinks = coalesce(u.backlinks, 0) + more.n
FROM {MORE_LINKS}
WHERE u.run_id = %(run)s AND u.fingerprint = more.fingerprint AND u.url = more.url
"""  # noqa: S608  # constants


class StatedChange(NamedTuple):
    fingerprint: int
    url: str
    at: datetime


STATED = SentRows("stated", StatedChange)
#: If two URLs have one fingerprint, only the URL that is stored under it is noted.
NOTE_MODIFIED = f"""
UPDATE crawling_url u SET modified_at = stated.at
FROM {STATED}
WHERE u.run_id = %(run)s AND u.fingerprint = stated.fingerprint AND u.url = stated.url
    AND stated.at BETWEEN clock_timestamp() - make_interval(days => %(days)s) AND clock_timestamp()
"""  # noqa: S608  # constants

#: A URL that is fetched or in process gets the depth of the shortest path to it;
#: `crawling.frontier.admit.depths` updates its targets.
BRING_NEARER = f"""
WITH nearer AS (
    UPDATE crawling_url u SET depth = short.depth, via = short.via, redirects = short.redirects
    FROM {SHORTER}
    WHERE u.run_id = %(run)s AND u.fingerprint = short.fingerprint AND u.depth > short.depth
    RETURNING u.id
)
UPDATE crawling_pagetargets t SET is_behind = true FROM nearer WHERE t.url_id = nearer.id
"""  # noqa: S608  # constants

WAITING = {UrlState.QUEUED, UrlState.QUARANTINED}
#: a URL in process may be tried again, and in OPIC it spends its credit when it is done
UNFINISHED = WAITING | {UrlState.IN_PROCESS}


class Rediscovery(NamedTuple):
    fingerprint: int
    candidate: Candidate
    depth: int
    state: str


def update_known_urls(
    cursor: CursorWrapper,
    run_id: int,
    ranking: Ranking,
    met: Sequence[Rediscovery],
    gains: Mapping[str, float],
) -> set[str]:
    """Set the least depth of known URLs, and add their gains. Return the URLs that received a gain.

    The caller holds the run's lock.
    """
    nearer = [row for row in met if row.candidate.depth < row.depth]
    if shorter := [row for row in nearer if row.state in WAITING]:
        ways = [_path_of_row(row, ranking) for row in shorter]
        cursor.execute(SHORTEN, SHORTER.values(ways, run=run_id))
    if done := [row for row in nearer if row.state not in WAITING]:
        ways = [_path_of_row(row, ranking) for row in done]
        cursor.execute(BRING_NEARER, SHORTER.values(ways, run=run_id))
    receivers = {
        row.fingerprint: url
        for row in met
        if row.state in UNFINISHED and gains.get(url := row.candidate.address.url)
    }
    if receivers:
        received = [RankChange(mark, gains[url]) for mark, url in receivers.items()]
        more = GAINS.values(received, run=run_id)
        if ranking.order == Order.FOCUSED:
            cursor.execute(LIFT, more)
        else:
            are_links = ranking.order == Order.BEST_FIRST
            cursor.execute(GAIN, {"step": ranking.step, "are_links": are_links, **more})
    return set(receivers.values())


def _path_of_row(row: Rediscovery, ranking: Ranking) -> UrlPath:
    way = row.candidate
    return UrlPath(
        row.fingerprint,
        way.depth,
        way.via,
        way.redirects,
        way.nesting,
        None if ranking.counts_links else ranking.rank(way.address.url, way.depth, 0.0),
    )


def add_links(run_id: int, links: Mapping[str, int]) -> None:
    """Count links to URLs that are already in the run. The caller holds the run's lock."""
    marks = {fingerprint(url): url for url in links}
    more = [LinkCount(mark, url, links[url]) for mark, url in marks.items()]
    with connection.cursor() as cursor:
        cursor.execute(ADD_LINKS, MORE_LINKS.values(more, run=run_id))


def note_modified(cursor: CursorWrapper, run_id: int, stated: Mapping[str, datetime]) -> None:
    """Note when URLs of the run were last changed, according to a sitemap. Times in the future or
    long past are ignored, since no visit can depend on them. The caller holds the run's lock.
    """
    marks = {fingerprint(url): url for url in stated}
    rows = [StatedChange(mark, url, stated[url]) for mark, url in marks.items()]
    cursor.execute(NOTE_MODIFIED, STATED.values(rows, run=run_id, days=MOST_DAYS))
