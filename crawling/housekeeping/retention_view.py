"""The stored runs of a crawl, the size of each, and its removal by the crawl's rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection
from django.db.models import Count, Q, Sum
from django.db.models.functions import Now
from django.utils import timezone

from crawling.models import ArchiveFile, CrawlJob, Run, RunTotal
from crawling.models.jobs import ENDED_STATES
from crawling.orders.retention import RetainedRun, Retention, RunFate, fates, read_retention

#: pages of later runs whose payload is in an earlier one, since the server said that nothing had
#: changed
REFERENCES = """
SELECT theirs.number, mine.number, count(*) FROM crawling_page p
JOIN crawling_run mine ON mine.id = p.run_id
JOIN crawling_page o ON o.url_id = p.unchanged_since
JOIN crawling_run theirs ON theirs.id = o.run_id
WHERE p.run_id = ANY(%s) AND p.unchanged_since IS NOT NULL AND o.run_id <> p.run_id
GROUP BY 1, 2
"""


@dataclass(frozen=True)
class DeletionLoss:
    """Everything that is removed with deleted runs."""

    runs: int = 0
    urls: int = 0
    pages: int = 0
    files: int = 0
    file_bytes: int = 0


@dataclass(frozen=True)
class RunWithFate:
    """A run of a crawl with the room it takes and its fate."""

    run: Run
    pages: int
    file_bytes: int
    fate: RunFate


def loss_of(runs: Collection[int]) -> DeletionLoss:
    """Counts of the runs with these ids."""
    counts = RunTotal.objects.filter(run__in=runs).aggregate(
        urls=Sum("discovered"), pages=Sum("fetched")
    )
    files = ArchiveFile.objects.filter(run__in=runs, committed_length__gt=0).aggregate(
        n=Count("pk"), size=Sum("committed_length")
    )
    return DeletionLoss(
        len(runs), counts["urls"] or 0, counts["pages"] or 0, files["n"] or 0, files["size"] or 0
    )


def references(
    crawl: CrawlJob, *, restorable: bool = True, only: Collection[int] | None = None
) -> Mapping[int, Mapping[int, int]]:
    """Which runs of a crawl others need: by the number of the needed, those of the needing and how
    many pages they have there.

    restorable: also what runs need that are deleted and may be restored. only: what the runs with
    these ids need.
    """
    needed: dict[int, dict[int, int]] = {}
    if only is None:
        kept = Q(removal_asked_at=None)
        runs = Run.all_objects.filter(crawl=crawl)
        runs = runs.filter(kept | Q(restorable_until__gt=Now()) if restorable else kept)
        only = list(runs.values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(REFERENCES, [list(only)])
        for number, needing, pages in cursor.fetchall():
            needed.setdefault(number, {})[needing] = pages
    return needed


def rules_of(crawl: CrawlJob) -> Retention:
    """As they were set."""
    rules, _ = read_retention(crawl.retention)
    return rules or Retention()


def fates_of(crawl: CrawlJob, now: datetime, rules: Retention | None = None) -> Sequence[RunFate]:
    """What becomes of the crawl's runs by its rules, or by others; the latest first."""
    rules, kept = rules or rules_of(crawl), _kept(crawl)
    told = fates(rules, kept, now)
    if not any(fate.goes_by(now) for fate in told):
        # nothing is removed now, so references between runs, which need a read of pages, are not
        # looked up
        return told
    needed = references(crawl)
    return fates(rules, [replace(one, needed_by=needed.get(one.number, {})) for one in kept], now)


def standing(crawl: CrawlJob, now: datetime) -> Sequence[tuple[object, ...]]:
    """Its runs, their ends, and whether each would go if no other needed it.

    While this is the same, so is what becomes of them: who needs whom is in pages of runs that have
    ended."""
    kept = _kept(crawl)
    told = fates(rules_of(crawl), kept, now)
    return [
        (run.number, run.ended_at, fate.goes_by(now)) for run, fate in zip(kept, told, strict=True)
    ]


def kept_runs(crawl: CrawlJob, rules: Retention | None = None) -> list[RunWithFate]:
    """The crawl's runs, the latest first, with what becomes of each."""
    runs = _sizes(crawl)
    pages = dict(RunTotal.objects.filter(run__crawl=crawl).values_list("run", "fetched"))
    told = fates_of(crawl, timezone.now(), rules)
    return [
        RunWithFate(run, pages.get(run.pk, 0), size, fate)
        for (run, size), fate in zip(runs, told, strict=True)
    ]


def _sizes(crawl: CrawlJob) -> list[tuple[Run, int]]:
    files = (
        ArchiveFile.objects.filter(run__crawl=crawl)
        .values("run")
        .annotate(size=Sum("committed_length"))
    )
    sizes = dict(files.values_list("run", "size"))
    return [(run, sizes.get(run.pk, 0)) for run in crawl.runs.order_by("-number")]


def _kept(crawl: CrawlJob) -> list[RetainedRun]:
    """As if none needed another."""
    return [RetainedRun(run.number, _ended_at(run), size, {}) for run, size in _sizes(crawl)]


def _ended_at(run: Run) -> datetime | None:
    return (run.finished_at or run.created_at) if run.state in ENDED_STATES else None
