"""URLs of patterns that look like traps. They are kept out of their queues until an operator has
approved or banned the pattern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.base.alert_events import AlertEvent
from crawling.frontier.admit.schedule import Scheduled, schedule_urls
from crawling.frontier.run_counts import (
    FetchCounts,
    StatusCount,
    add_counts,
    count_done,
    count_statuses,
)
from crawling.frontier.sql_rows import SentRows
from crawling.frontier.types import Candidate
from crawling.installation.events import alert
from crawling.installation.run_log import write
from crawling.models import Level, Run, TrapPattern, UrlState
from crawling.orders.scope.trap_gate import TrapState
from crawling.orders.scope.trap_patterns import WIDE_REASONS, Pattern, expression_for, hold_reason
from crawling.web.addresses import canonical_address
from crawling.web.statuses import FetchStatus


class NewPattern(NamedTuple):
    key: int
    pattern: str
    rule: str


CAUGHT = SentRows("new", NewPattern)
#: a known pattern keeps the operator's decision
ADD_PATTERNS = f"""
INSERT INTO crawling_trappattern AS p (run_id, state, found_at, {CAUGHT.names})
SELECT %(run)s, 'quarantined', clock_timestamp(), {CAUGHT.columns} FROM {CAUGHT}
ON CONFLICT (run_id, key) DO UPDATE SET state =
    CASE WHEN p.state = 'watched' THEN 'quarantined' ELSE p.state END
RETURNING p.key, p.state, xmax = 0
"""  # noqa: S608  # constants

KEEP_DECISIONS = """
INSERT INTO crawling_trappattern (run_id, key, pattern, rule, state, found_at)
SELECT %s, key, pattern, rule, state, clock_timestamp() FROM crawling_trappattern
WHERE run_id = %s AND state IN ('approved', 'banned') ORDER BY id
"""
#: the most patterns that the log of a new run names, and of which a run's listeners are notified
MOST_TOLD = 20

HOLD = f"""
WITH held AS (
    UPDATE crawling_url SET state = '{UrlState.QUARANTINED}', due_at = NULL
    WHERE run_id = %s AND pattern = %s AND state = '{UrlState.QUEUED}' RETURNING queue_id
), counted AS (SELECT queue_id, count(*) AS n FROM held GROUP BY queue_id), queues AS (
    UPDATE crawling_hostqueue q SET queued = q.queued - counted.n FROM counted
        WHERE q.id = counted.queue_id
)
SELECT count(*) FROM held
"""  # noqa: S608 - the states are constants

#: the URLs of an origin or with a parameter, whatever their other patterns; URLs that an operator
#: let in stay
HOLD_WIDE = f"""
WITH held AS (
    UPDATE crawling_url u SET state = '{UrlState.QUARANTINED}', due_at = NULL, pattern = %(key)s
    WHERE u.queue_id IN (
        SELECT q.id FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
        WHERE q.run_id = %(run)s AND h.name = %(host)s
    ) AND u.state = '{UrlState.QUEUED}' AND u.depth > 0 AND u.nesting = 0 AND u.url ~ %(urls)s
        AND NOT EXISTS (
            SELECT FROM crawling_trappattern p
            WHERE p.run_id = %(run)s AND p.key = u.pattern AND p.state = 'approved'
        )
    RETURNING u.queue_id
), counted AS (SELECT queue_id, count(*) AS n FROM held GROUP BY queue_id), queues AS (
    UPDATE crawling_hostqueue q SET queued = q.queued - counted.n FROM counted
        WHERE q.id = counted.queue_id
)
SELECT count(*) FROM held
"""  # noqa: S608 - the states are constants

LET_GO = f"""
WITH back AS (
    UPDATE crawling_url SET state = '{UrlState.QUEUED}'
    WHERE run_id = %s AND pattern = %s AND state = '{UrlState.QUARANTINED}' RETURNING queue_id
), counted AS (SELECT queue_id, count(*) AS n FROM back GROUP BY queue_id), queues AS (
    UPDATE crawling_hostqueue q SET queued = q.queued + counted.n,
        due_at = greatest(q.retry_at, least(q.due_at, clock_timestamp()))
    FROM counted WHERE q.id = counted.queue_id
)
SELECT count(*) FROM back
"""  # noqa: S608 - the states are constants

BAN = f"""
UPDATE crawling_url SET state = '{UrlState.EXCLUDED}', status = %s, error = %s
WHERE run_id = %s AND pattern = %s AND state = '{UrlState.QUARANTINED}' RETURNING queue_id
"""  # noqa: S608 - the states are constants


def pattern_states(run_id: int) -> Mapping[int, TrapState]:
    """The decisions on patterns of the run that matter to new links."""
    rows = (
        TrapPattern.objects.filter(run=run_id)
        .exclude(state=TrapState.WATCHED)
        .values_list("key", "state")
    )
    return {key: TrapState(state) for key, state in rows}


def store_quarantined(
    cursor: CursorWrapper,
    run: Run,
    trapped: Sequence[Candidate],
    *,
    numbers: Sequence[int],
    gains: Mapping[str, float] | None = None,
) -> Scheduled:
    """Store URLs of suspicious patterns without queueing them. Held URLs count as new.

    The caller holds the run's lock.
    """
    caught = schedule_urls(run, trapped, numbers=numbers, state=UrlState.QUARANTINED, gains=gains)
    held = caught.new
    patterns = {candidate.trap.key: candidate.trap for candidate in trapped if candidate.trap}
    rows = (
        NewPattern(key, pattern.text, pattern.rule or "yield")
        for key, pattern in sorted(patterns.items())
    )
    cursor.execute(ADD_PATTERNS, CAUGHT.values(rows, run=run.pk))
    known = cursor.fetchall()
    log_quarantine(run, [patterns[key] for key, _, is_new in known if is_new])
    for key, state, is_new in known:
        # approved just before the shift heard of the decision
        if not is_new and state == TrapState.APPROVED:
            held -= release_pattern(cursor, run.pk, key)
    return caught._replace(new=held)


def hold_waiting_urls(cursor: CursorWrapper, run_id: int, pattern: Pattern) -> int:
    """Take the waiting URLs of a pattern out of their queues. Return their number.

    The caller holds the run's lock.
    """
    if pattern.rule not in WIDE_REASONS:
        cursor.execute(HOLD, [run_id, pattern.key])
    else:
        host = canonical_address(pattern.text.partition("…")[0]).host_key
        urls = expression_for(pattern)
        cursor.execute(HOLD_WIDE, {"run": run_id, "key": pattern.key, "host": host, "urls": urls})
    return int(cursor.fetchone()[0])


def release_pattern(cursor: CursorWrapper, run_id: int, key: int) -> int:
    """Put the held URLs of a pattern back into their queues. Return their number.

    The caller holds the run's lock.
    """
    cursor.execute(LET_GO, [run_id, key])
    return int(cursor.fetchone()[0])


def log_quarantine(run: Run, patterns: Sequence[Pattern]) -> None:
    """Log which patterns are held and why, and notify the run's listeners, once for each batch,
    until they have heard of MOST_TOLD patterns of the run.
    """
    for pattern in patterns:
        told = (
            f"Quarantined as a possible trap: {pattern.text} ({_reason_for(pattern)}). URLs like "
            "it wait until you approve or ban them."
        )
        write(run.pk, told, level=Level.WARNING)
    held = TrapPattern.objects.filter(run=run).exclude(state=TrapState.WATCHED)
    if not patterns or held.count() - len(patterns) >= MOST_TOLD:
        return
    more = f" and of {len(patterns) - 1} other patterns" if len(patterns) > 1 else ""
    first = patterns[0]
    alert(
        run,
        AlertEvent.HELD,
        f"URLs like {first.text}{more} wait until they are approved or banned: "
        f"{_reason_for(first)}.",
        more={"patterns": [pattern.text for pattern in patterns]},
    )


def _reason_for(pattern: Pattern) -> str:
    return hold_reason(pattern.rule or "yield")


def copy_decisions(earlier: Run, run: Run) -> None:
    """Copy operators' decisions on patterns from an earlier run to a new one. Log patterns that
    were held without a decision: their pages are fetched and judged anew.
    """
    with connection.cursor() as cursor:
        cursor.execute(KEEP_DECISIONS, [run.pk, earlier.pk])
    undecided = TrapPattern.objects.filter(run=earlier, state=TrapState.QUARANTINED)
    for text in undecided.order_by("pk").values_list("pattern", flat=True)[:MOST_TOLD]:
        write(
            run.pk,
            f"Run {earlier.number} held back {text} as a possible trap, which was neither approved "
            "nor banned. Its first pages are fetched again, to see whether they hold anything new.",
            level=Level.WARNING,
        )


def approve_pattern(run: Run, pattern: TrapPattern) -> int:
    """Queue the held URLs of a pattern, and admit its links from now on. Return the number of
    queued URLs.

    The caller holds the run's lock.
    """
    with connection.cursor() as cursor:
        count = release_pattern(cursor, run.pk, pattern.key)
        add_counts(cursor, run.pk, FetchCounts(quarantined=-count))
    TrapPattern.objects.filter(pk=pattern.pk).update(state=TrapState.APPROVED)
    return count


def ban_pattern(run: Run, pattern: TrapPattern) -> int:
    """Exclude the held and waiting URLs of a pattern, and drop its links from now on.

    The caller holds the run's lock.
    """
    with connection.cursor() as cursor:
        of_links = Pattern(pattern.key, pattern.pattern, pattern.rule)
        waiting = hold_waiting_urls(cursor, run.pk, of_links)
        cursor.execute(BAN, [FetchStatus.TRAP, FetchStatus.TRAP.sentence, run.pk, pattern.key])
        done = Counter(queue for (queue,) in cursor.fetchall())
        count = done.total()
        if count:
            count_done(cursor, done)
            banned = StatusCount(UrlState.EXCLUDED.value, int(FetchStatus.TRAP), count)
            count_statuses(cursor, run.pk, [banned])
        changes = FetchCounts(quarantined=waiting - count, excluded=count)
        add_counts(cursor, run.pk, changes)
    TrapPattern.objects.filter(pk=pattern.pk).update(state=TrapState.BANNED)
    return count
