"""The stored runs of a crawl, with their sizes, and their removal by the crawl's rules."""

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
from crawling.orders.retention import RetainedRun, Retention, RunFate, fates_of_runs, read_retention

#: Pages of a crawl's runs whose payload is in another of its runs, because the page had not changed
#: or the same payload was received again. They are found by URL: the page with the payload may be
#: withdrawn, and its record is still needed until another page of that run has the payload.
REFERENCES = """
SELECT theirs.number, mine.number, count(*) FROM crawling_page p
JOIN crawling_run mine ON mine.id = p.run_id
JOIN crawling_url o ON o.id = p.payload_from
JOIN crawling_run theirs ON theirs.id = o.run_id
WHERE p.run_id = ANY(%s) AND p.payload_from IS NOT NULL AND theirs.id <> mine.id
    AND theirs.crawl_id = mine.crawl_id
GROUP BY 1, 2
"""
#: the same for runs of other crawls, as long as these runs may be read or restored
OF_OTHERS = """
SELECT c.name, r.number, count(*) FROM crawling_page p
JOIN crawling_url o ON o.id = p.payload_from
JOIN crawling_run r ON r.id = p.run_id JOIN crawling_crawljob c ON c.id = r.crawl_id
WHERE p.payload_from IS NOT NULL AND o.run_id = ANY(%(runs)s)
    AND r.crawl_id <> (SELECT crawl_id FROM crawling_run WHERE id = o.run_id)
    AND (r.removal_asked_at IS NULL OR r.restorable_until > now())
GROUP BY 1, 2, r.id ORDER BY r.id LIMIT 1
"""


@dataclass(frozen=True)
class DeletionLoss:
    runs: int = 0
    urls: int = 0
    pages: int = 0
    files: int = 0
    file_bytes: int = 0


@dataclass(frozen=True)
class RunWithFate:
    run: Run
    pages: int
    file_bytes: int
    fate: RunFate


def deletion_loss(runs: Collection[int]) -> DeletionLoss:
    counts = RunTotal.objects.filter(run__in=runs).aggregate(
        urls=Sum("discovered"), pages=Sum("fetched")
    )
    files = ArchiveFile.objects.filter(run__in=runs, committed_length__gt=0).aggregate(
        n=Count("pk"), size=Sum("committed_length")
    )
    return DeletionLoss(
        len(runs), counts["urls"] or 0, counts["pages"] or 0, files["n"] or 0, files["size"] or 0
    )


def runs_needed_by_others(
    crawl: CrawlJob, *, restorable: bool = True, only: Collection[int] | None = None
) -> Mapping[int, Mapping[int, int]]:
    """The runs of a crawl that other runs need. By the number of the needed run: the numbers of the
    runs that need it, each with how many of its pages do.

    restorable: also count deleted runs that may be restored. only: count only the needs of the runs
    with these ids.
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


def other_crawls_sentence(runs: Collection[int]) -> str:
    """A sentence that names the other crawls with payloads in the archives of these runs, and the
    remedy; empty if there are none.
    """
    with connection.cursor() as cursor:
        cursor.execute(OF_OTHERS, {"runs": list(runs)})
        row = cursor.fetchone()
    if row is None:
        return ""
    name, number, pages = row
    return (
        f"The archive holds the payload of {pages:,} page{'' if pages == 1 else 's'} of run "
        f"{number} of {name}; delete that run first, or keep both."
    )


def retention_of(crawl: CrawlJob) -> Retention:
    rules, _ = read_retention(crawl.retention)
    return rules or Retention()


def fates_of_crawl(
    crawl: CrawlJob, now: datetime, rules: Retention | None = None
) -> Sequence[RunFate]:
    """The fates of the crawl's runs by its own rules, or by `rules`. The latest run comes first."""
    return _fates_of_runs(
        crawl, now, rules or retention_of(crawl), _runs_with_own_archives(_archive_sizes(crawl))
    )


def _fates_of_runs(
    crawl: CrawlJob, now: datetime, rules: Retention, kept: Sequence[RetainedRun]
) -> Sequence[RunFate]:
    told = fates_of_runs(rules, kept, now)
    going = {fate.number for fate in told if fate.is_deleted_by(now)}
    if not going:
        # nothing is removed now, so references between runs, which would take a query of pages, are
        # not read
        return told
    needed = runs_needed_by_others(crawl)
    others = {
        number: other_crawls_sentence([pk])
        for pk, number in crawl.runs.filter(number__in=going).values_list("pk", "number")
    }
    return fates_of_runs(
        rules,
        [
            replace(
                one,
                needed_by=needed.get(one.number, {}),
                needed_by_others=others.get(one.number, ""),
            )
            for one in kept
        ],
        now,
    )


def retention_stamp(crawl: CrawlJob, now: datetime) -> Sequence[tuple[object, ...]]:
    """The crawl's runs, each with its end and whether it would be removed if no other run needed
    it.

    While these stay the same, the fates of the runs stay the same, since only pages of ended runs
    need other runs.
    """
    kept = _runs_with_own_archives(_archive_sizes(crawl))
    told = fates_of_runs(retention_of(crawl), kept, now)
    return [
        (run.number, run.ended_at, fate.is_deleted_by(now))
        for run, fate in zip(kept, told, strict=True)
    ]


def kept_runs(crawl: CrawlJob, rules: Retention | None = None) -> list[RunWithFate]:
    """The crawl's runs, the latest first, with the fate of each."""
    runs = _archive_sizes(crawl)
    pages = dict(RunTotal.objects.filter(run__crawl=crawl).values_list("run", "fetched"))
    told = _fates_of_runs(
        crawl, timezone.now(), rules or retention_of(crawl), _runs_with_own_archives(runs)
    )
    return [
        RunWithFate(run, pages.get(run.pk, 0), size, fate)
        for (run, size), fate in zip(runs, told, strict=True)
    ]


def _archive_sizes(crawl: CrawlJob) -> list[tuple[Run, int]]:
    files = (
        ArchiveFile.objects.filter(run__crawl=crawl)
        .values("run")
        .annotate(size=Sum("committed_length"))
    )
    sizes = dict(files.values_list("run", "size"))
    return [(run, sizes.get(run.pk, 0)) for run in crawl.runs.order_by("-number")]


def _runs_with_own_archives(runs: Sequence[tuple[Run, int]]) -> list[RetainedRun]:
    """The runs as if none needed the archive of another run."""
    return [RetainedRun(run.number, _end_time(run), size, {}) for run, size in runs]


def _end_time(run: Run) -> datetime | None:
    return (run.finished_at or run.created_at) if run.state in ENDED_STATES else None
