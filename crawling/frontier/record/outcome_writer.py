"""Record the outcomes of claimed URLs: verdicts, pages, new links and counts, in one
transaction.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from django.db import DataError, connection
from django.db.backends.utils import CursorWrapper

from allocation.isolation import retry_on_conflict
from crawling.frontier.admit.depths import lower_depths_of_targets, store_targets
from crawling.frontier.admit.pattern_watch import PatternAdmission, count_pattern_yields
from crawling.frontier.admit.pattern_worth import PatternWatch
from crawling.frontier.admit.rediscovery import note_modified
from crawling.frontier.change.lost_redirects import fail_lost_redirects
from crawling.frontier.record.link_admission import (
    LinkAdmission,
    admit_first_links,
    admit_links,
    remaining_links,
    split_by_links,
)
from crawling.frontier.record.outcome_log import OutcomeLog
from crawling.frontier.record.page_rows import (
    KnownContents,
    as_text,
    commit_lengths,
    commit_lengths_alone,
    find_originals,
    page_row,
    store_extracted,
)
from crawling.frontier.record.renderings import store_renderings
from crawling.frontier.run_counts import FetchCounts, count_outcomes
from crawling.frontier.run_lock import locked_run
from crawling.frontier.sql_rows import SentRows, insert_rows, read_rows
from crawling.frontier.types import UrlOutcome
from crawling.models import Page, Run, Shift, UrlState
from crawling.web.statuses import FetchStatus

logger = logging.getLogger(__name__)

#: the tries to write a batch while other transactions hold its locks; they take most of a minute
#: together
ATTEMPTS = 5


class UrlEnd(NamedTuple):
    """The final state of a URL, or the seconds until it is tried again."""

    id: int
    state: str
    status: int
    error: str
    retry: float | None
    untried: bool


ENDS = SentRows("done", UrlEnd)
SETTLE_URLS = f"""
UPDATE crawling_url u
SET state = done.state, status = done.status, error = done.error,
    due_at = CASE WHEN done.retry IS NULL THEN NULL
        ELSE clock_timestamp() + make_interval(secs => done.retry) END,
    attempts = CASE WHEN done.untried THEN greatest(0, u.attempts - 1) ELSE u.attempts END,
    shift_id = CASE WHEN done.state = '{UrlState.QUEUED}' THEN NULL ELSE u.shift_id END
FROM {ENDS}
WHERE u.id = done.id AND u.state = '{UrlState.IN_PROCESS}' AND u.shift_id = %(shift)s
RETURNING u.id, u.queue_id, u.url, u.rank
"""  # noqa: S608 - the states are constants

COUNT_REQUEUED = """
UPDATE crawling_hostqueue q
SET queued = q.queued + back.n,
    due_at = greatest(q.retry_at, CASE WHEN q.queued > 0 THEN least(q.due_at, back.due_at)
        ELSE back.due_at END)
FROM (SELECT queue_id, count(*) AS n, min(coalesce(due_at, clock_timestamp())) AS due_at
    FROM crawling_url
      WHERE id = ANY(%s) GROUP BY queue_id) back
WHERE q.id = back.queue_id
"""

#: the settled URLs among those that a shift had in process
OF_THE_SHIFT = f"""
SELECT id FROM crawling_url
WHERE id = ANY(%s) AND shift_id = %s AND state <> '{UrlState.IN_PROCESS}'
"""  # noqa: S608  # a constant

GIVE_BACK = f"""
WITH back AS (
    UPDATE crawling_url u SET state = '{UrlState.QUEUED}', shift_id = NULL,
        attempts = greatest(0, u.attempts - 1)
    WHERE u.shift_id = %(shift)s AND u.state = '{UrlState.IN_PROCESS}'
        AND (%(ids)s::bigint[] IS NULL OR u.id = ANY(%(ids)s))
    RETURNING u.queue_id
), counted AS (SELECT queue_id, count(*) AS n FROM back GROUP BY queue_id)
UPDATE crawling_hostqueue q SET queued = q.queued + counted.n,
    due_at = greatest(q.retry_at, least(q.due_at, clock_timestamp()))
FROM counted WHERE q.id = counted.queue_id
"""  # noqa: S608 - the states are constants


@dataclass
class RecordingState:
    """The memory of a shift between batches: logged hosts, known contents, and watched patterns."""

    outcome_log: OutcomeLog = field(default_factory=OutcomeLog)
    contents: KnownContents = field(default_factory=KnownContents)
    watch: PatternWatch = field(default_factory=PatternWatch)
    #: links to URLs that the run already had, by URL, that no row counts yet
    links: Counter[str] = field(default_factory=Counter)
    #: the time when these links were last counted, in monotonic seconds
    links_counted_at: float = field(default_factory=time.monotonic)
    #: id of the part of the links dataset in which the links of these pages are
    links_part: int | None = None

    def confirm(self, outcomes: Sequence[UrlOutcome]) -> None:
        """Note that the batch of these outcomes is committed, so that the notes about it are
        final.
        """
        self.watch.confirm(outcomes)
        self.outcome_log.confirm()


class SettledUrl(NamedTuple):
    """A URL that the shift still had in process."""

    id: int
    queue_id: int
    url: str
    rank: float


def record_batch(
    shift: Shift,
    outcomes: Sequence[UrlOutcome],
    *,
    numbers: Sequence[int],
    memory: RecordingState | None = None,
    lengths: Mapping[int, int] | None = None,
) -> Collection[int]:
    """Write a batch. Return the ids of the URLs that the shift still had.

    Outcomes of other URLs leave no trace at all.

    lengths: the lengths, by id, of the archive's files with these pages. They are committed even
    without outcomes, since a file may have records to which no row refers.
    """
    if not outcomes:
        if lengths:
            commit_lengths_alone(shift, lengths)
        return ()
    memory = memory or RecordingState()
    with locked_run(shift.process.run_id) as run, connection.cursor() as cursor:
        settled = _settle_urls(cursor, shift, outcomes)
        if not settled:
            return ()
        kept = [outcome for outcome in outcomes if outcome.url_id in settled]
        _count_requeued(cursor, kept)
        commit_lengths(lengths or {})
        originals = find_originals(cursor, run.pk, kept, memory.contents)
        copies = _write_pages(run.pk, kept, originals, memory.links_part)
        store_renderings(run.pk, kept)
        ranks = {url: row.rank for url, row in settled.items()}
        found = _admit_batch(cursor, run, kept, ranks, originals, numbers, memory.watch)
        admitted = FetchCounts(discovered=found.new, quarantined=found.caught, duplicate=copies)
        queues = {url: row.queue_id for url, row in settled.items()}
        failed = count_outcomes(cursor, shift, kept, queues, admitted=admitted)
        fail_lost_redirects(cursor, shift, kept)
        memory.outcome_log.write_lines(
            shift, kept, {url: row.url for url, row in settled.items()}, failed
        )
    memory.confirm(outcomes)
    memory.contents.learn(originals)
    memory.links.update(found.links)
    return settled.keys()


def _admit_batch(
    cursor: CursorWrapper,
    run: Run,
    outcomes: Sequence[UrlOutcome],
    ranks: Mapping[int, float],
    originals: Mapping[bytes, int],
    numbers: Sequence[int],
    watch: PatternWatch,
) -> LinkAdmission:
    """Admit the links of a batch, and hold the patterns that the batch shows to be traps. The
    numbers include URLs that are admitted because pages have come nearer.
    """
    found = admit_links(cursor, run, outcomes, ranks, numbers)
    if run.crawl.order.reuse.visits_a_day:
        _note_modified(cursor, run, outcomes)
    held = count_pattern_yields(cursor, run, outcomes, originals, found.known, watch)
    nearer = PatternAdmission()
    if run.crawl.max_depth is not None:
        store_targets(cursor, outcomes)
        nearer = lower_depths_of_targets(cursor, run, numbers=numbers)
    new, caught = found.new + nearer.new, found.caught + held + nearer.caught
    return found._replace(new=new, caught=caught)


def _count_requeued(cursor: CursorWrapper, outcomes: Sequence[UrlOutcome]) -> None:
    requeued = [outcome.url_id for outcome in outcomes if outcome.state == UrlState.QUEUED]
    if requeued:
        cursor.execute(COUNT_REQUEUED, [requeued])


def _write_pages(
    run_id: int,
    outcomes: Sequence[UrlOutcome],
    originals: Mapping[bytes, int],
    links_part: int | None,
) -> int:
    """Write a row for each answer. Return the number of copies of other pages."""
    pages = [
        page_row(run_id, outcome, originals, links_part=links_part)
        for outcome in outcomes
        if outcome.answer
    ]
    insert_rows(Page, pages)
    store_extracted(run_id, outcomes)
    return sum(page["duplicate_of"] is not None for page in pages)


def _note_modified(cursor: CursorWrapper, run: Run, outcomes: Sequence[UrlOutcome]) -> None:
    for outcome in outcomes:
        if outcome.modified:
            note_modified(cursor, run.pk, outcome.modified)


def record_all(
    shift: Shift,
    outcomes: Sequence[UrlOutcome],
    *,
    numbers: Sequence[int],
    memory: RecordingState,
    lengths: Mapping[int, int],
) -> Collection[int]:
    """Write a batch, in parts if it has very many links. Return the ids of the URLs that the shift
    still had.
    """
    settled: set[int] = set()
    for part, its_lengths in split_by_links(outcomes, lengths):
        rest = [_admit_most_links(shift, outcome, numbers, memory) for outcome in part]
        settled.update(_record_part(shift, rest, numbers, memory, its_lengths))
    return settled


def _admit_most_links(
    shift: Shift, outcome: UrlOutcome, numbers: Sequence[int], memory: RecordingState
) -> UrlOutcome:
    """If a page has more links than a part may have, admit some of them in separate transactions,
    and return the page without them. If the page's own transaction fails, a later fetch finds these
    links as known.
    """
    while (rest := remaining_links(outcome)) is not outcome:
        try:
            found = retry_on_conflict(
                partial(admit_first_links, shift, outcome, numbers),
                attempts=ATTEMPTS,
                through_breaks=True,
            )
        # the page's own transaction meets the refused data again, and leaves it out
        except DataError:
            break
        if found is None:
            break
        memory.links.update(found.links)
        outcome = rest
    return outcome


def _record_part(
    shift: Shift,
    outcomes: Sequence[UrlOutcome],
    numbers: Sequence[int],
    memory: RecordingState,
    lengths: Mapping[int, int],
) -> Collection[int]:
    """Write a part even if the database refuses the data of one outcome: only that outcome fails,
    and the crawl continues with its links.

    If other transactions hold the locks, or the connection breaks, the part is tried again.
    """
    settled: set[int] = set()
    tries = 0

    def record_or_retry() -> Collection[int]:
        nonlocal tries
        tries += 1
        done = record_batch(shift, outcomes, numbers=numbers, memory=memory, lengths=lengths)
        # the connection may have broken only after the commit
        if not done and tries > 1 and (done := _already_settled(shift, outcomes)):
            memory.confirm(outcomes)
        return done

    try:
        return retry_on_conflict(record_or_retry, attempts=ATTEMPTS, through_breaks=True)
    except DataError:
        for outcome in outcomes:
            try:
                settled |= set(
                    record_batch(shift, [outcome], numbers=numbers, memory=memory, lengths=lengths)
                )
            except DataError as error:
                logger.exception("an outcome could not be kept", extra={"url_id": outcome.url_id})
                fault = UrlOutcome(
                    outcome.url_id,
                    UrlState.FAILED,
                    FetchStatus.OUR_FAULT,
                    f"could not be kept: {error}",
                    links=outcome.links,
                )
                _record_fault(shift, fault, numbers, memory)
    return settled


def _already_settled(shift: Shift, outcomes: Sequence[UrlOutcome]) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(OF_THE_SHIFT, [[outcome.url_id for outcome in outcomes], shift.pk])
        return {row[0] for row in cursor.fetchall()}


def _record_fault(
    shift: Shift, fault: UrlOutcome, numbers: Sequence[int], memory: RecordingState
) -> None:
    """Record the links of the faulty outcome, too, unless the database refuses exactly these
    links.
    """
    try:
        record_batch(shift, [fault], numbers=numbers, memory=memory)
    except DataError:
        record_batch(shift, [replace(fault, links=())], numbers=numbers, memory=memory)


def _settle_urls(
    cursor: CursorWrapper, shift: Shift, outcomes: Sequence[UrlOutcome]
) -> dict[int, SettledUrl]:
    ends = [
        UrlEnd(
            one.url_id,
            str(one.state),
            one.status,
            as_text(one.error),
            one.retry_seconds,
            one.is_untried,
        )
        for one in outcomes
    ]
    cursor.execute(SETTLE_URLS, ENDS.values(ends, shift=shift.pk))
    return {row.id: row for row in read_rows(cursor, SettledUrl)}


def return_urls(shift: Shift, url_ids: Sequence[int] | None = None) -> None:
    """Put claimed URLs back into their queues untried: the given URLs, or all that the shift still
    has.

    The caller holds the run's lock. Safe to repeat.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            GIVE_BACK, {"shift": shift.pk, "ids": list(url_ids) if url_ids is not None else None}
        )
