"""What the pages of each pattern are worth: those of a trap hold nothing new."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.backends.utils import CursorWrapper

from crawling.frontier.admit.quarantine import hold, log_quarantine
from crawling.frontier.types import ServerAnswer, UrlOutcome
from crawling.models import Run, TrapPattern
from crawling.scope.trap_gate import TrapState
from crawling.scope.trap_patterns import (
    LATEST,
    LEAST_YIELD,
    PROBE_PAGES,
    SUSPICIOUS_PROBE_PAGES,
    Pattern,
)
from crawling.web.simhash import folded, is_alike

WORD = re.compile(r"\w++")
#: texts of a pattern that the next is compared with, and patterns that a shift remembers
COMPARED = 64
MOST_PATTERNS = 5_000
#: and texts of pages
MOST_TEXTS = 50_000
#: a pattern becomes a row once a shift has fetched so many of its pages: most patterns have only
#: one
WATCHED_FROM = 5

ADD_YIELDS = """
INSERT INTO crawling_trappattern AS p (run_id, key, pattern, rule, state, fetched, fresh, found_at)
SELECT %s, new.key, new.pattern, new.rule, 'watched', new.fetched, new.fresh, clock_timestamp()
FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::int[], %s::int[])
    AS new(key, pattern, rule, fetched, fresh)
ON CONFLICT (run_id, key) DO UPDATE SET fetched = p.fetched + excluded.fetched,
    fresh = p.fresh + excluded.fresh
RETURNING p.key, p.state, p.fetched, p.fresh
"""


@dataclass
class PatternWorth:
    """What pages of one pattern brought lately."""

    pattern: Pattern
    #: simhashes of the latest texts that were new
    texts: deque[int] = field(default_factory=lambda: deque(maxlen=COMPARED))
    #: those of too few letters for a simhash
    short_texts: deque[bytes] = field(default_factory=lambda: deque(maxlen=COMPARED))
    #: whether each of the latest pages led to more of its kind
    leads_on: deque[bool] = field(default_factory=lambda: deque(maxlen=LATEST))
    #: pages that its row does not count yet
    fetched: int = 0
    fresh: int = 0
    is_row: bool = False

    @property
    def probe_pages(self) -> int:
        """So many of its pages are fetched before it is judged."""
        return SUSPICIOUS_PROBE_PAGES if self.pattern.rule else PROBE_PAGES

    @property
    def is_growing(self) -> bool:
        return 2 * sum(self.leads_on) >= min(LATEST, self.probe_pages)

    def is_poor(self, fetched: int, fresh: int) -> bool:
        """Whether so many pages, of which so many were new, show that it yields too little."""
        return fetched >= self.probe_pages and fresh < LEAST_YIELD * fetched and self.is_growing

    def count(self, answer: ServerAnswer, url: str, *, is_copy: bool, leads_on: bool) -> None:
        """Count a page.

        A copy is worth nothing, nor is one that says what one of the latest said.
        """
        self.leads_on.append(leads_on)
        self.fetched += 1
        self.fresh += not is_copy and self._says_something_new(answer, url)
        self.is_row = self.is_row or self.fetched >= WATCHED_FROM

    def _says_something_new(self, answer: ServerAnswer, url: str) -> bool:
        if answer.summary.simhash is None:
            # which holds all of so short a text
            short = words_beside(answer.summary.abstract, url)
            is_new = short not in self.short_texts
            self.short_texts += [short] if is_new else []
            return is_new
        is_new = not is_alike(answer.summary.simhash, self.texts)
        self.texts += [answer.summary.simhash] if is_new else []
        return is_new


def words_beside(text: str, url: str) -> bytes:
    """The words of a short text but for those of its page's own URL, which say nothing new."""
    words = set(WORD.findall(text)).difference(WORD.findall(url))
    return folded(" ".join(sorted(words)))


class PatternWatch:
    """The patterns that a shift has fetched pages of, the latest MOST_PATTERNS of them."""

    def __init__(self) -> None:
        self._worths: dict[int, PatternWorth] = {}
        #: simhashes of the latest pages of the run, whatever their patterns
        self._texts: dict[int, None] = {}

    def count(
        self,
        outcome: UrlOutcome,
        originals: Mapping[bytes, int],
        known: Collection[str],
    ) -> PatternWorth | None:
        """Count a page under its pattern, if it has one and was read. known: URLs found again."""
        counted = self._count(outcome, originals, known)
        if outcome.answer and outcome.answer.summary.simhash is not None:
            self._texts[outcome.answer.summary.simhash] = None
            if len(self._texts) > MOST_TEXTS:
                del self._texts[next(iter(self._texts))]
        return counted

    def _count(
        self, outcome: UrlOutcome, originals: Mapping[bytes, int], known: Collection[str]
    ) -> PatternWorth | None:
        answer = outcome.answer
        if answer is None or answer.pattern is None or not answer.digest:
            return None
        worth = self._worths.pop(answer.pattern.key, None) or PatternWorth(answer.pattern)
        self._worths[answer.pattern.key] = worth
        if len(self._worths) > MOST_PATTERNS:
            del self._worths[next(iter(self._worths))]
        is_copy = originals.get(answer.digest, outcome.url_id) != outcome.url_id
        if worth.pattern.rule and answer.summary.simhash in self._texts:
            is_copy = True  # the ids in its markup alone are others
        alike = [link for link in outcome.links if link.pattern == answer.pattern.key]
        leads_on = any(link.address.url not in known for link in alike)
        url = outcome.page_links.url if outcome.page_links else ""
        worth.count(answer, url, is_copy=is_copy, leads_on=leads_on)
        return worth


def watch_yields(
    cursor: CursorWrapper,
    run: Run,
    outcomes: Sequence[UrlOutcome],
    originals: Mapping[bytes, int],
    known: Collection[str],
    watch: PatternWatch,
) -> int:
    """Count what a batch's pages were worth, and hold the URLs of patterns that yield too little;
    returns how many those were.

    known: links of the batch that the run had before. The caller holds the run's lock.
    """
    counted = [watch.count(outcome, originals, known) for outcome in outcomes]
    worths = {worth.pattern.key: worth for worth in counted if worth and worth.is_row}
    if not worths:
        return 0
    rows = [
        (key, *worths[key].pattern[1:], worths[key].fetched, worths[key].fresh)
        for key in sorted(worths)
    ]
    cursor.execute(ADD_YIELDS, [run.pk, *map(list, zip(*rows, strict=True))])
    held = 0
    for key, state, fetched, fresh in cursor.fetchall():
        worths[key].fetched = worths[key].fresh = 0
        if state == TrapState.WATCHED and worths[key].is_poor(fetched, fresh):
            TrapPattern.objects.filter(run=run, key=key).update(
                state=TrapState.QUARANTINED, rule=worths[key].pattern.rule or "yield"
            )
            log_quarantine(run.pk, worths[key].pattern)
            held += hold(cursor, run.pk, key)
        elif state == TrapState.QUARANTINED:  # found in the moment before the shift heard of it
            held += hold(cursor, run.pk, key)
    return held
