"""Find redirects that lead nowhere, and count every URL of such a chain as failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from django.db.backends.utils import CursorWrapper

from crawling.frontier.change.manual_order import requeue_failed
from crawling.frontier.run_counts import FetchCounts, StatusCount, add_counts, count_statuses
from crawling.frontier.sql_rows import read_rows
from crawling.frontier.types import UrlOutcome
from crawling.models import CrawlJob, Shift, UrlState
from crawling.web.addresses import fingerprint
from crawling.web.statuses import ASTRAY, MOST_REDIRECTS, FetchStatus, is_redirect

#: the rows of some addresses, and the targets of their redirects
FOLLOW = """
SELECT u.url, u.id, u.state, u.status, p.final_url AS leads_to
FROM crawling_url u LEFT JOIN crawling_page p ON p.url_id = u.id AND p.status BETWEEN 300 AND 399
WHERE u.run_id = %s AND u.fingerprint = ANY(%s) AND u.url = ANY(%s)
"""

#: the redirects that led to some rows, each found on the previous page
LED_HERE = f"""
WITH RECURSIVE chain AS (
    SELECT id, via, redirects, 0 AS hops FROM crawling_url WHERE id = ANY(%s)
    UNION ALL
    SELECT u.id, u.via, u.redirects, c.hops + 1 FROM chain c JOIN crawling_url u ON u.id = c.via
    WHERE c.redirects > 0 AND c.hops < {MOST_REDIRECTS + 1}
)
SELECT DISTINCT id FROM chain
"""  # noqa: S608  # a constant

FAIL = f"""
WITH was AS (
    SELECT id, status FROM crawling_url
    WHERE id = ANY(%(ids)s) AND run_id = %(run)s AND state = '{UrlState.SUCCEEDED}'
)
UPDATE crawling_url u SET state = '{UrlState.FAILED}', status = %(status)s, error = %(error)s
FROM was WHERE u.id = was.id RETURNING was.status
"""  # noqa: S608 - the states are constants


#: the address by which a loop was entered, if it has a try left
ENTRY = f"""
SELECT id FROM crawling_url WHERE id = ANY(%s) AND state = '{UrlState.SUCCEEDED}' AND attempts < %s
ORDER BY redirects, id LIMIT 1
"""  # noqa: S608 - the states are constants
#: the most tries for the entry of a loop that a cookie may open
MOST_LOOP_TRIES = 3


#: ids on the path into a loop and through it, and ids of the loop alone
Loop = tuple[list[int], list[int]]


class RedirectRow(NamedTuple):
    url: str
    id: int
    state: str
    status: int | None
    #: the target of the redirect, or None
    leads_to: str | None


def fail_lost_redirects(
    cursor: CursorWrapper, shift: Shift, outcomes: Collection[UrlOutcome]
) -> None:
    """Fail the redirects of a batch that lead into a loop or nowhere, and the redirects that led to
    them.

    To be called after the batch is written and counted. The caller holds the run's lock.
    """
    ended = [one for one in outcomes if one.status in ASTRAY]
    astray = {one.url_id: FetchStatus(one.status) for one in ended}
    leading = {
        one.url_id: one.answer.final_url
        for one in outcomes
        if one.answer and one.state == UrlState.SUCCEEDED and is_redirect(one.answer.status)
    }
    if leading:
        strays, loops = _follow_redirects(cursor, shift.process.run_id, leading)
        astray |= strays
        for url_id in _requeue_loops(cursor, shift, loops):
            astray.pop(url_id, None)
    for status in set(astray.values()):
        ids = [url for url, found in astray.items() if found == status]
        cursor.execute(LED_HERE, [ids])
        _fail_redirects(cursor, shift, [url_id for (url_id,) in cursor.fetchall()], status)


def _follow_redirects(
    cursor: CursorWrapper,
    run_id: int,
    leading: Mapping[int, str],
) -> tuple[dict[int, FetchStatus], list[Loop]]:
    """Follow all redirects of a batch at once, as far as the run has fetched them.

    Return the status of each redirect that leads nowhere, and the loops.
    """
    astray: dict[int, FetchStatus] = {}
    loops: list[Loop] = []
    paths = {url_id: ([url_id], target) for url_id, target in leading.items()}
    for _ in range(MOST_REDIRECTS + 1):
        if not paths:
            break
        rows = _redirect_rows(cursor, run_id, {target for _, target in paths.values()})
        further: dict[int, tuple[list[int], str]] = {}
        for start, (path, target) in paths.items():
            row = rows.get(target)
            if row is None:
                continue
            if row.id in path:
                astray |= dict.fromkeys(path, FetchStatus.REDIRECT_LOOP)
                loops.append((path, path[path.index(row.id) :]))
            elif row.state == UrlState.FAILED and row.status in ASTRAY:
                astray |= dict.fromkeys(path, FetchStatus(row.status))
            elif row.state == UrlState.SUCCEEDED and row.leads_to:
                further[start] = ([*path, row.id], row.leads_to)
        paths = further
    return astray, loops


def _requeue_loops(cursor: CursorWrapper, shift: Shift, loops: Collection[Loop]) -> set[int]:
    """Queue the entries of loops again if the run keeps cookies, since a cookie of the loop may
    open it.

    Return the ids on the paths to these entries, which have not failed yet.
    """
    run_id = shift.process.run_id
    if not loops or not _keeps_cookies(run_id):
        return set()
    waiting: set[int] = set()
    for way, loop in loops:
        if waiting.isdisjoint(loop):
            cursor.execute(ENTRY, [loop, MOST_LOOP_TRIES])
            entry = cursor.fetchone()
            if entry is None:
                continue
            _fail_redirects(cursor, shift, [entry[0]], FetchStatus.REDIRECT_LOOP)
            requeue_failed(run_id, url_id=entry[0], keeps_tries=True)
        waiting |= set(way)
    return waiting


def _keeps_cookies(run_id: int) -> bool:
    return CrawlJob.objects.only("fetching").get(runs=run_id).order.fetching.keeps_cookies


def _redirect_rows(
    cursor: CursorWrapper, run_id: int, targets: Iterable[str]
) -> dict[str, RedirectRow]:
    addresses = list(targets)
    cursor.execute(FOLLOW, [run_id, [fingerprint(url) for url in addresses], addresses])
    return {row.url: row for row in read_rows(cursor, RedirectRow)}


def _fail_redirects(
    cursor: CursorWrapper, shift: Shift, ids: list[int], status: FetchStatus
) -> None:
    values: dict[str, Any] = {
        "ids": ids,
        "run": shift.process.run_id,
        "status": int(status),
        "error": status.sentence,
    }
    cursor.execute(FAIL, values)
    before = [before for (before,) in cursor.fetchall()]
    if not before:
        return
    rows = [StatusCount(str(UrlState.SUCCEEDED), one, -n) for one, n in Counter(before).items()]
    rows.append(StatusCount(str(UrlState.FAILED), int(status), len(before)))
    count_statuses(cursor, shift.process.run_id, rows)
    changes = FetchCounts(succeeded=-len(before), failed=len(before))
    add_counts(cursor, shift.process.run_id, changes, process=shift.process.number)
