"""The counts of runs, in rows that are added to and summed up. There are counts of each run, and of
all crawls in each minute, so that a chart of a day need not read the counts of every process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import starmap
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.sql_rows import SentRows
from crawling.frontier.types import UrlOutcome
from crawling.models import Shift, UrlState


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartCounts:
    """The counts that charts show over time. The fields are the columns of `MinuteTotal`."""

    #: answers, whatever their status
    fetched: int = 0
    failed: int = 0
    #: URLs that became known
    discovered: int = 0
    #: received
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchCounts(ChartCounts):
    """The counts of a run or of a minute, or an addition to both.

    The fields are the columns of `RunTotal` and `RunCount`. A retry subtracts failures, so a count
    may be negative.
    """

    succeeded: int = 0
    excluded: int = 0
    #: URLs that look like a trap and wait for an operator's decision
    quarantined: int = 0
    #: answers with content that another page of the run had first
    duplicate: int = 0
    #: answers taken from other crawls
    reused: int = 0
    #: bytes that archive files do not need because payloads were stored before
    saved_bytes: int = 0
    #: of those fetched, the files that pages load
    files: int = 0


#: the types of files that pages load, which are no pages
FILE_PREFIXES = ("image/", "font/", "audio/", "video/")
FILE_TYPES = (
    *("text/css", "text/javascript", "application/javascript", "application/x-javascript"),
    *("application/ecmascript", "text/ecmascript", "application/manifest+json"),
)
IS_FILE = " OR ".join(
    [
        *(f"starts_with({{0}}, '{prefix}')" for prefix in FILE_PREFIXES),
        f"{{0}} IN {FILE_TYPES}",
    ]
)


def is_file(content_type: str) -> bool:
    return content_type.startswith(FILE_PREFIXES) or content_type in FILE_TYPES


COUNTED = tuple(field.name for field in fields(FetchCounts))
CHARTED = tuple(field.name for field in fields(ChartCounts))
_COLUMNS = ", ".join(COUNTED)
_VALUES = ", ".join(f"%({name})s::bigint" for name in COUNTED)
_ADDED = ", ".join(f"{name} = c.{name} + excluded.{name}" for name in COUNTED)

ADD_COUNTS = f"""
WITH added (run_id, process_number, {_COLUMNS}) AS (
    VALUES (%(run)s::bigint, %(process)s::int, {_VALUES})
), total AS (
    INSERT INTO crawling_runtotal AS c (run_id, {_COLUMNS}) SELECT run_id, {_COLUMNS} FROM added
    ON CONFLICT (run_id) DO UPDATE SET {_ADDED}
)
INSERT INTO crawling_runcount AS c (run_id, process_number, minute, {_COLUMNS})
SELECT run_id, process_number, date_trunc('minute', clock_timestamp()), {_COLUMNS} FROM added
ON CONFLICT (run_id, process_number, minute) DO UPDATE SET {_ADDED}
RETURNING failed
"""  # noqa: S608  # constants


def sum_expressions(names: Iterable[str]) -> str:
    """SQL for the sum of each of these counts, under its own name."""
    return ", ".join(f"sum({name})::bigint AS {name}" for name in names)


SUM_UP = f"""
INSERT INTO crawling_runtotal (run_id, {_COLUMNS})
SELECT run_id, {sum_expressions(COUNTED)} FROM crawling_runcount
WHERE run_id = %s GROUP BY run_id
"""  # noqa: S608  # constants


class QueueCount(NamedTuple):
    id: int
    n: int


ENDED = SentRows("ended", QueueCount)
COUNT_DONE = f"""
UPDATE crawling_hostqueue q SET done = q.done + ended.n FROM {ENDED} WHERE q.id = ended.id
"""  # noqa: S608  # constants


class QueueAnswerCount(NamedTuple):
    id: int
    pages: int
    bytes: int


ANSWERED = SentRows("had", QueueAnswerCount)
COUNT_ANSWERS = f"""
UPDATE crawling_hostqueue q
SET pages = q.pages + had.pages, bytes = q.bytes + had.bytes,
    began_at = coalesce(q.began_at, clock_timestamp())
FROM {ANSWERED} WHERE q.id = had.id
"""  # noqa: S608  # constants


class StatusCount(NamedTuple):
    """The change in the number of URLs with a status."""

    state: str
    status: int
    urls: int


MORE = SentRows("more", StatusCount)
COUNT_STATUSES = f"""
INSERT INTO crawling_runstatuscount AS c (run_id, {MORE.names})
SELECT %(run)s, {MORE.columns} FROM {MORE}
ON CONFLICT (run_id, state, status) DO UPDATE SET urls = c.urls + excluded.urls
"""  # noqa: S608  # constants


def count_outcomes(
    cursor: CursorWrapper,
    shift: Shift,
    outcomes: Collection[UrlOutcome],
    queues: Mapping[int, int],
    admitted: FetchCounts,
) -> int:
    """Count a batch, by minute, by host and by status. Return the number of URLs of the process
    that have failed in this minute.

    queues: the host queue of each URL, by the URL's id. admitted: the counts of the batch's links
    and contents besides the outcomes. The caller holds the run's lock.
    """
    ended = [outcome for outcome in outcomes if outcome.state != UrlState.QUEUED]
    if ended:
        _count_ended(cursor, shift.process.run_id, ended, queues)
    _count_answers(cursor, outcomes, queues)
    by_state = Counter(outcome.state for outcome in ended)
    answers = [outcome.answer for outcome in outcomes if outcome.answer]
    counts = replace(
        admitted,
        fetched=len(answers),
        files=sum(is_file(answer.content_type) for answer in answers),
        succeeded=by_state[UrlState.SUCCEEDED],
        failed=by_state[UrlState.FAILED],
        excluded=by_state[UrlState.EXCLUDED],
        bytes=sum(answer.received_bytes for answer in answers),
        reused=sum(answer.reused_from is not None for answer in answers),
        saved_bytes=sum(
            outcome.captured.place.saved
            for outcome in outcomes
            if outcome.captured and outcome.captured.place
        ),
    )
    return add_counts(cursor, shift.process.run_id, counts, process=shift.process.number)


def _count_ended(
    cursor: CursorWrapper, run_id: int, ended: Collection[UrlOutcome], queues: Mapping[int, int]
) -> None:
    """Count done URLs by host, and by state and status."""
    by_queue = Counter(queues[outcome.url_id] for outcome in ended)
    count_done(cursor, by_queue)
    by_status = Counter((str(outcome.state), int(outcome.status)) for outcome in ended)
    count_statuses(cursor, run_id, [StatusCount(*one, n) for one, n in by_status.items()])


def count_done(cursor: CursorWrapper, by_queue: Mapping[int, int]) -> None:
    """Count done URLs, by the ids of their queues."""
    cursor.execute(COUNT_DONE, ENDED.values(starmap(QueueCount, by_queue.items())))


def count_statuses(cursor: CursorWrapper, run_id: int, counts: Iterable[StatusCount]) -> None:
    cursor.execute(COUNT_STATUSES, MORE.values(counts, run=run_id))


def _count_answers(
    cursor: CursorWrapper, outcomes: Collection[UrlOutcome], queues: Mapping[int, int]
) -> None:
    """Count answers and their bytes by host. The limits on each host depend on these counts."""
    pages: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    for outcome in outcomes:
        if outcome.answer:
            pages[queues[outcome.url_id]] += 1
            sizes[queues[outcome.url_id]] += outcome.answer.bytes
    if pages:
        rows = [QueueAnswerCount(queue, n, sizes[queue]) for queue, n in pages.items()]
        cursor.execute(COUNT_ANSWERS, ANSWERED.values(rows))


def add_counts(cursor: CursorWrapper, run_id: int, counts: FetchCounts, *, process: int = 0) -> int:
    """Add to the counts of a run and of this minute. Return the number of URLs of the process that
    have failed in this minute.

    process: the number of the run's process. The caller holds the run's lock.
    """
    cursor.execute(ADD_COUNTS, {"run": run_id, "process": process, **asdict(counts)})
    return int(cursor.fetchone()[0])


def count_seeds(run_id: int, discovered: int) -> None:
    """Count the seeds of a run as discovered by its first process."""
    with connection.cursor() as cursor:
        add_counts(cursor, run_id, FetchCounts(discovered=discovered))


def sum_counts_of_run(cursor: CursorWrapper, run_id: int) -> None:
    """Make the totals of a run from its counts by minute, which came from elsewhere."""
    cursor.execute(SUM_UP, [run_id])


#: URLs that were discovered and are neither queued nor in process
SETTLED = ("succeeded", "failed", "excluded", "quarantined")
NAMES = (*COUNTED, "in_process", "queued")
#: The number of queued URLs follows from the other counts, since the queues of a run's hosts may be
#: very many.
COUNTS = f"""
SELECT run.id, {", ".join(f"coalesce(total.{name}, 0)" for name in COUNTED)},
    coalesce(working.n, 0), greatest(0, coalesce(
        total.discovered - {" - ".join(f"total.{name}" for name in SETTLED)}
        - coalesce(working.n, 0), 0))
FROM unnest(%(runs)s::bigint[]) AS run (id)
LEFT JOIN crawling_runtotal total ON total.run_id = run.id
LEFT JOIN (
    SELECT run_id, count(*) AS n FROM crawling_url
    WHERE run_id = ANY(%(runs)s) AND shift_id IS NOT NULL AND state = '{UrlState.IN_PROCESS}'
    GROUP BY run_id) working ON working.run_id = run.id
"""  # noqa: S608  # names of columns and a constant


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts(FetchCounts):
    """discovered = queued + in_process + succeeded + failed + excluded + quarantined."""

    queued: int = 0
    in_process: int = 0

    @property
    def pages(self) -> int:
        """The answers without files that pages load."""
        return self.fetched - self.files


def counts_of(run_ids: Sequence[int]) -> dict[int, RunCounts]:
    """The counts of each of these runs, in one query at most."""
    if not run_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, {"runs": list(run_ids)})
        rows = cursor.fetchall()
    return {run: RunCounts(**dict(zip(NAMES, counts, strict=True))) for run, *counts in rows}


#: A minute is summed up this long after its end, and again until the next few minutes are: a batch
#: commits late if the machine is busy. Charts cover a day at most.
SUM_UP_MINUTES = f"""
INSERT INTO crawling_minutetotal (minute, {", ".join(CHARTED)})
SELECT minute, {sum_expressions(CHARTED)} FROM crawling_runcount
WHERE minute >= greatest((SELECT max(minute) FROM crawling_minutetotal) - interval '5 minutes',
    now() - interval '25 hours')
    AND minute < date_trunc('minute', now()) - interval '2 minutes'
GROUP BY minute
ON CONFLICT (minute) DO UPDATE
SET {", ".join(f"{name} = excluded.{name}" for name in CHARTED)}
"""  # noqa: S608  # constants
FORGET = "DELETE FROM crawling_minutetotal WHERE minute < now() - interval '25 hours'"


def total_minutes() -> None:
    with connection.cursor() as cursor:
        cursor.execute(SUM_UP_MINUTES)
        cursor.execute(FORGET)
