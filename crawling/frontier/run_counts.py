"""The counts of a run, kept with every batch, so that no page ever has to count URLs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.outcomes import UrlOutcome
from crawling.models import Shift, UrlState

#: of a minute and of a run, in the order of the values of `ADD_COUNTS`
COUNTED = (
    "discovered",
    "fetched",
    "succeeded",
    "failed",
    "excluded",
    "bytes",
    "quarantined",
    "duplicate",
    "reused",
)
_COLUMNS = ", ".join(COUNTED)
_ADDED = ", ".join(f"{name} = c.{name} + excluded.{name}" for name in COUNTED)

ADD_COUNTS = f"""
WITH added (run_id, process_number, {_COLUMNS}) AS (
    VALUES (%s::bigint, %s::int, {", ".join(["%s::bigint"] * len(COUNTED))})
), total AS (
    INSERT INTO crawling_runtotal AS c (run_id, {_COLUMNS}) SELECT run_id, {_COLUMNS} FROM added
    ON CONFLICT (run_id) DO UPDATE SET {_ADDED}
)
INSERT INTO crawling_runcount AS c (run_id, process_number, minute, {_COLUMNS})
SELECT run_id, process_number, date_trunc('minute', clock_timestamp()), {_COLUMNS} FROM added
ON CONFLICT (run_id, process_number, minute) DO UPDATE SET {_ADDED}
RETURNING failed
"""  # noqa: S608  # constants

SUM_UP = f"""
INSERT INTO crawling_runtotal (run_id, {_COLUMNS})
SELECT run_id, {", ".join(f"sum({name})" for name in COUNTED)} FROM crawling_runcount
WHERE run_id = %s GROUP BY run_id
"""  # noqa: S608  # constants

COUNT_DONE = """
UPDATE crawling_hostqueue q SET done = q.done + ended.n
FROM unnest(%s::bigint[], %s::int[]) AS ended(id, n) WHERE q.id = ended.id
"""

COUNT_ANSWERS = """
UPDATE crawling_hostqueue q
SET pages = q.pages + had.pages, bytes = q.bytes + had.bytes,
    began_at = coalesce(q.began_at, clock_timestamp())
FROM unnest(%s::bigint[], %s::int[], %s::bigint[]) AS had(id, pages, bytes) WHERE q.id = had.id
"""

COUNT_STATUSES = """
INSERT INTO crawling_runstatuscount AS c (run_id, state, status, urls)
SELECT %s, * FROM unnest(%s::text[], %s::int[], %s::int[])
ON CONFLICT (run_id, state, status) DO UPDATE SET urls = c.urls + excluded.urls
"""


def count_outcomes(
    cursor: CursorWrapper,
    shift: Shift,
    outcomes: Collection[UrlOutcome],
    queues: Mapping[int, int],
    *,
    discovered: int,
    quarantined: int = 0,
    duplicate: int = 0,
) -> int:
    """Count a batch, by minute, by host and by status; returns how many URLs the process has failed
    at in this minute.

    queues: the host queue of each URL by its id. The caller holds the run's lock.
    """
    ended = [outcome for outcome in outcomes if outcome.state != UrlState.QUEUED]
    if ended:
        _count_ended(cursor, shift.process.run_id, ended, queues)
    by_state = Counter(outcome.state for outcome in ended)
    answers = [outcome.answer for outcome in outcomes if outcome.answer]
    _count_answers(cursor, outcomes, queues)
    cursor.execute(
        ADD_COUNTS,
        [
            shift.process.run_id,
            shift.process.number,
            discovered,
            len(answers),
            by_state[UrlState.SUCCEEDED],
            by_state[UrlState.FAILED],
            by_state[UrlState.EXCLUDED],
            sum(answer.received_bytes for answer in answers),
            quarantined,
            duplicate,
            sum(answer.reused_from is not None for answer in answers),
        ],
    )
    return int(cursor.fetchone()[0])


def _count_ended(
    cursor: CursorWrapper, run_id: int, ended: Collection[UrlOutcome], queues: Mapping[int, int]
) -> None:
    """Count what is done by host, and by state and status."""
    by_queue = Counter(queues[outcome.url_id] for outcome in ended)
    cursor.execute(COUNT_DONE, [list(by_queue), list(by_queue.values())])
    by_status = Counter((str(outcome.state), int(outcome.status)) for outcome in ended)
    states, statuses = zip(*by_status, strict=True)
    cursor.execute(COUNT_STATUSES, [run_id, list(states), list(statuses), list(by_status.values())])


def _count_answers(
    cursor: CursorWrapper, outcomes: Collection[UrlOutcome], queues: Mapping[int, int]
) -> None:
    """Count answers and their bytes by host: what limits on each host go by."""
    pages: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    for outcome in outcomes:
        if outcome.answer:
            pages[queues[outcome.url_id]] += 1
            sizes[queues[outcome.url_id]] += outcome.answer.bytes
    if pages:
        cursor.execute(
            COUNT_ANSWERS, [list(pages), list(pages.values()), [sizes[queue] for queue in pages]]
        )


def add_counts(cursor: CursorWrapper, shift: Shift, **counts: int) -> None:
    """Add to the counts of a run and its minute; what is not named stays."""
    values = [counts.get(name, 0) for name in COUNTED]
    cursor.execute(ADD_COUNTS, [shift.process.run_id, shift.process.number, *values])


def count_seeds(run_id: int, discovered: int) -> None:
    """Count the seeds of a run as discovered by its first process."""
    with connection.cursor() as cursor:
        cursor.execute(ADD_COUNTS, [run_id, 0, discovered, 0, 0, 0, 0, 0, 0, 0, 0])


def sum_up(cursor: CursorWrapper, run_id: int) -> None:
    """Make the totals of a run whose counts by minute came from elsewhere."""
    cursor.execute(SUM_UP, [run_id])
