"""Hold the URLs of patterns whose pages yield too little, and admit URLs that a rule excluded and
that pass now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from crawling.frontier.admit.pattern_worth import PatternWatch
from crawling.frontier.admit.quarantine import (
    hold_waiting_urls,
    log_quarantine,
    pattern_states,
    store_quarantined,
)
from crawling.frontier.admit.schedule import add_queues, schedule_urls
from crawling.frontier.sql_rows import SentRows, read_rows
from crawling.frontier.types import Candidate, UrlOutcome
from crawling.models import Run, TrapPattern
from crawling.orders.scope.trap_gate import TrapGate, TrapState
from crawling.orders.scope.trap_patterns import Pattern


class PatternCounts(NamedTuple):
    key: int
    pattern: str
    rule: str
    fetched: int
    fresh: int


YIELDS = SentRows("new", PatternCounts)
ADD_YIELDS = f"""
INSERT INTO crawling_trappattern AS p (run_id, state, found_at, {YIELDS.names})
SELECT %(run)s, 'watched', clock_timestamp(), {YIELDS.columns} FROM {YIELDS}
ON CONFLICT (run_id, key) DO UPDATE SET fetched = p.fetched + excluded.fetched,
    fresh = p.fresh + excluded.fresh
RETURNING p.key, p.state, p.fetched, p.fresh
"""  # noqa: S608  # constants


class PatternTotal(NamedTuple):
    """The sums of a pattern over all shifts of the run."""

    key: int
    state: str
    fetched: int
    fresh: int


def count_pattern_yields(
    cursor: CursorWrapper,
    run: Run,
    outcomes: Sequence[UrlOutcome],
    originals: Mapping[bytes, int],
    known: Collection[str],
    watch: PatternWatch,
) -> int:
    """Count the worth of a batch's pages, and hold the URLs of patterns that yield too little.
    Return the number of held URLs.

    known: links of the batch that the run already had. The caller holds the run's lock, and
    confirms the batch to the watch once the batch is committed.
    """
    counted = [worth for outcome in outcomes for worth in watch.count(outcome, originals, known)]
    worths = {worth.pattern.key: worth for worth in counted if worth.is_row}
    watch.note_written(worths.values())
    if not worths:
        return 0
    rows = [
        PatternCounts(key, worth.pattern.text, worth.pattern.rule, worth.fetched, worth.fresh)
        for key, worth in sorted(worths.items())
    ]
    cursor.execute(ADD_YIELDS, YIELDS.values(rows, run=run.pk))
    held, news = 0, list[Pattern]()
    for row in read_rows(cursor, PatternTotal):
        worth = worths[row.key]
        if row.state == TrapState.WATCHED and worth.is_poor(row.fetched, row.fresh):
            TrapPattern.objects.filter(run=run, key=row.key).update(
                state=TrapState.QUARANTINED, rule=worth.pattern.rule or "yield"
            )
            news.append(worth.pattern)
            held += hold_waiting_urls(cursor, run.pk, worth.pattern)
        # found just before the shift heard of the decision
        elif row.state == TrapState.QUARANTINED:
            held += hold_waiting_urls(cursor, run.pk, worth.pattern)
    log_quarantine(run, news)
    watch.has_held |= bool(news)
    return held


class PatternAdmission(NamedTuple):
    new: int = 0
    caught: int = 0


def admit_by_pattern(
    cursor: CursorWrapper, run: Run, found: Iterable[Candidate], *, numbers: Sequence[int]
) -> PatternAdmission:
    """Queue the found URLs, except URLs of held or banned patterns. Seeds are always queued.

    The caller holds the run's lock, and counts the URLs.
    """
    gate = TrapGate(timezone.now().year, pattern_states(run.pk))
    wanted: list[Candidate] = []
    trapped: list[Candidate] = []
    for candidate in found:
        judged = gate.judge(candidate.address)
        if candidate.via is None:
            wanted.append(candidate)
        elif not judged.is_banned:
            key = judged.pattern.key if judged.pattern else None
            kept = replace(candidate, pattern=key, trap=judged.trap)
            (trapped if judged.trap else wanted).append(kept)
    if trapped:  # both kinds get their queues at once, like the links of pages
        add_queues(cursor, run.pk, [*wanted, *trapped], numbers=numbers)
    new = schedule_urls(run, wanted, numbers=numbers).new
    caught = store_quarantined(cursor, run, trapped, numbers=numbers).new if trapped else 0
    return PatternAdmission(new + caught, caught)
