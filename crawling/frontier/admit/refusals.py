"""Store the URLs that were excluded from a run, one row each, to answer the question *Why not?*."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Sum

from crawling.frontier.sql_rows import SentRows, insert_rows
from crawling.frontier.types import Refusal
from crawling.machine.eviction import forget_oldest
from crawling.models import Verdict, VerdictCount
from crawling.orders.scope.filters import Rule, Ruling
from crawling.web.addresses import Address, fingerprint

#: the most such rows of a run; further refusals are only counted
MOST_ROWS = 20_000
#: refused URLs that a shift remembers
CAPACITY = 50_000

FIND_KNOWN = "SELECT fingerprint FROM crawling_verdict WHERE run_id = %s AND fingerprint = ANY(%s)"


class RefusedUrl(NamedTuple):
    fingerprint: int
    url: str
    links: int
    depth: int
    hops: int


MET = SentRows("met", RefusedUrl)
ADD_LINKS = f"""
UPDATE crawling_verdict v SET links = v.links + met.links, depth = least(v.depth, met.depth),
    hops = least(v.hops, met.hops)
FROM {MET} WHERE v.run_id = %(run)s AND v.fingerprint = met.fingerprint AND v.url = met.url
"""  # noqa: S608  # constants


class RuleCount(NamedTuple):
    """For one rule, its new rows, and the number of URLs that it excluded without a row."""

    rule: str
    kept: int
    more: int


COUNTED = SentRows("new", RuleCount)
ADD_COUNTS = f"""
INSERT INTO crawling_verdictcount AS c (run_id, {COUNTED.names})
SELECT %(run)s, {COUNTED.columns} FROM {COUNTED}
ON CONFLICT (run_id, rule) DO UPDATE SET kept = c.kept + excluded.kept,
    more = c.more + excluded.more
"""  # noqa: S608  # constants


class Refusals:
    """The latest CAPACITY links that a shift has refused, shared by its fetch threads.

    Each URL is written to the database once. The number of further pages that link to it follows
    with `take_repeats`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, Refusal] = {}
        self._final: set[str] = set()
        self._again: Counter[str] = Counter()

    def count_repeat(self, url: str) -> bool:
        """Whether the URL itself was refused before; if so, the link is counted and need not be
        judged.
        """
        if url not in self._final:
            return False
        with self._lock:
            self._again[url] += 1
        return True

    def first_refusal(
        self,
        link: Address,
        ruling: Ruling,
        *,
        depth: int,
        hops: int,
        via: int | None,
        is_final: bool,
    ) -> Refusal | None:
        """The refusal of a link that is to be stored. None if the refusal is known and the link is
        no nearer this time.

        is_final: the URL would be refused wherever it is found.
        """
        with self._lock:
            known = self._known.get(link.url)
            if known and known.depth <= depth and known.hops <= hops and known.rule is ruling.rule:
                self._again[link.url] += 1
                return None
            refusal = Refusal(link.url, ruling.rule, ruling.sentence, depth, hops, via)
            self._known[link.url] = refusal
            if is_final:
                self._final.add(link.url)
            gone = forget_oldest(self._known, CAPACITY)
            self._final.difference_update(gone)
            return refusal

    def forget(self) -> None:
        """Forget the refusals, since other rules apply from now on."""
        with self._lock:
            self._known.clear()
            self._final.clear()

    def take_repeats(self) -> Mapping[str, int]:
        """The number of times that each URL was met again since the last call."""
        with self._lock:
            met, self._again = self._again, Counter()
        return met


def store_refusals(
    cursor: CursorWrapper, run_id: int, refusals: Sequence[Refusal], *, revision: str
) -> None:
    """Store refusals as long as the run has rows left for them. The caller holds the run's lock."""
    once: dict[str, Refusal] = {}
    for refusal in refusals:
        once.setdefault(refusal.url, refusal)
    marks = {fingerprint(url): refusal for url, refusal in once.items()}
    cursor.execute(FIND_KNOWN, [run_id, list(marks)])
    known = {mark for (mark,) in cursor.fetchall()}
    met = [marks[mark] for mark in known]
    if met:
        _add_links(cursor, run_id, met)
    new = [(mark, refusal) for mark, refusal in marks.items() if mark not in known]
    if not new:
        return
    room = max(
        0,
        MOST_ROWS - int(VerdictCount.objects.filter(run=run_id).aggregate(n=Sum("kept"))["n"] or 0),
    )
    insert_rows(
        Verdict, [_verdict_row(run_id, mark, refusal, revision) for mark, refusal in new[:room]]
    )
    kept, more = (
        Counter(refusal.rule.value for _, refusal in part) for part in (new[:room], new[room:])
    )
    _add_counts(
        cursor, run_id, [RuleCount(rule, kept[rule], more[rule]) for rule in sorted({*kept, *more})]
    )


def count_repeated_links(run_id: int, met: Mapping[str, int]) -> None:
    """Add to the link counts of stored rows. The caller holds the run's lock."""
    rows = Verdict.objects.filter(run=run_id, fingerprint__in=[fingerprint(url) for url in met])
    known = [
        Refusal(row.url, Rule(row.rule), "", row.depth, row.hops, None, met[row.url])
        for row in rows
        if row.url in met
    ]
    if known:
        with connection.cursor() as cursor:
            _add_links(cursor, run_id, known)


def drop_verdicts(run_id: int, rows: Iterable[Verdict]) -> None:
    """Remove rows whose rule no longer exists. The caller holds the run's lock."""
    gone = list(rows)
    Verdict.objects.filter(pk__in=[row.pk for row in gone]).delete()
    counted = Counter(row.rule for row in gone)
    with connection.cursor() as cursor:
        _add_counts(cursor, run_id, [RuleCount(rule, -n, 0) for rule, n in counted.items()])


def _add_links(cursor: CursorWrapper, run_id: int, refusals: Sequence[Refusal]) -> None:
    met = [
        RefusedUrl(fingerprint(row.url), row.url, row.links, row.depth, row.hops)
        for row in refusals
    ]
    cursor.execute(ADD_LINKS, MET.values(met, run=run_id))


def _add_counts(cursor: CursorWrapper, run_id: int, counts: Sequence[RuleCount]) -> None:
    cursor.execute(ADD_COUNTS, COUNTED.values(counts, run=run_id))


def _verdict_row(run_id: int, mark: int, refusal: Refusal, revision: str) -> dict[str, object]:
    return {
        "run_id": run_id,
        "fingerprint": mark,
        "url": refusal.url,
        "rule": refusal.rule.value,
        "sentence": refusal.sentence,
        "revision": revision,
        "depth": refusal.depth,
        "hops": refusal.hops,
        "via": refusal.via,
        "links": refusal.links,
    }
