"""The number of problems of each kind in a run. A background job counts them once the run has ended
and its pages are read. Until then, and after each change of them, there are no numbers.

The numbers are kept in Django's cache; a page that needs missing ones requests the job.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from itertools import islice
from typing import Annotated, NamedTuple

from django.core.cache import cache
from redis.exceptions import RedisError

from crawling.datasets.jobs import move_reading_to_front
from crawling.datasets.lag import Derived, lag_of
from crawling.datasets.progress import unread_parts
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.jobs.due_jobs import request_unless_taken
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.kinds import DueJob, JobResult, job_kinds
from crawling.jobs.running_job import JobGone, RunningJob
from crawling.models import LinksPart, Run, WithdrawnPage
from crawling.models.jobs import ENDED_STATES
from crawling.uses.link_check.link_check import all_problems
from crawling.uses.link_check.models import BrokenLinks
from crawling.uses.link_check.problem_kinds import ProblemKind, Severity
from serving.listing.columns import Column

#: the highest number up to which problems are counted
MOST_COUNTED = 10_000
KEPT_SECONDS = int(timedelta(days=90).total_seconds())


@dataclass(frozen=True)
class ProblemCount:
    """The number of problems of a kind."""

    kind: ProblemKind
    problems: Annotated[int, Column(f"{MOST_COUNTED:,}: so many or more")]

    @property
    def is_more(self) -> bool:
        return self.problems >= MOST_COUNTED


def counts_of(run: Run) -> Mapping[ProblemKind, ProblemCount]:
    """The counts so far, in the order of kinds. Takes three queries at most.

    A kind that needs a second reading is missing until that reading is done, and a kind whose count
    takes too long is always missing. Broken links are counted as soon as the trend has them.
    """
    if run.state not in ENDED_STATES:
        return {}
    kept: dict[str, int | None] = {}
    with suppress(RedisError):  # without Redis there are no numbers
        kept = cache.get(_cache_key(run), kept)
        if any(kind not in kept for kind in countable_kinds(run)):
            request_unless_taken(job_kinds()["problem-counts"], DueJob(f"run {run.pk}", run.pk))
            move_reading_to_front(run)
    known = {kind: kept.get(kind) for kind in ProblemKind}
    if ProblemKind.BROKEN not in kept and (row := BrokenLinks.objects.filter(run=run).first()):
        known[ProblemKind.BROKEN] = min(row.broken, MOST_COUNTED)
    return {kind: ProblemCount(kind, n) for kind, n in known.items() if n is not None}


class MissingCounts(NamedTuple):
    """Why a page lacks numbers."""

    sentence: str
    #: whether they come
    is_coming: bool = True


def missing_counts(run: Run, counts: Mapping[ProblemKind, ProblemCount]) -> MissingCounts | None:
    """Why kinds have no count, or the run is not compared with the one before; None if all is
    counted.
    """
    if len(counts) == len(ProblemKind):
        is_due = open_jobs().filter(kind="broken-links", run=run).exists()
        is_compared = not is_due or BrokenLinks.objects.filter(run=run).exists()
        return None if is_compared else MissingCounts("Broken links are not compared yet.")
    lacking = "Kinds with “–” are not counted yet."
    if run.state not in ENDED_STATES:
        return MissingCounts(f"{lacking} They are counted once the run has ended.")
    for name in (Derived.LINKS, Derived.TEXTS):
        if not (lag := lag_of(run, name)).complete:
            sentence = f"{lacking} {lag.missing}. {lag.prospect}."
            return MissingCounts(sentence, lag.state != "stopped")
    job = open_jobs().filter(kind="problem-counts", run=run).first()
    if job is None:
        return MissingCounts(f"{lacking} Their count took too long.", is_coming=False)
    if job.waits:
        return MissingCounts(f"{lacking} Their count: {job.waits}.")
    told = "They are being counted." if job.began_at else "Their count waits for other jobs."
    return MissingCounts(f"{lacking} {told}")


@dataclass(frozen=True)
class KindShown:
    """A kind of problem, in the list of a run's kinds."""

    kind: ProblemKind
    #: the count; None until it is known
    count: ProblemCount | None
    #: the share in percent of the number of the kind with the most problems
    share: int


def kinds_by_severity(counts: Mapping[ProblemKind, ProblemCount]) -> list[KindShown]:
    """All kinds, the worst first; kinds of the same severity by the number of problems."""
    most = max((one.problems for one in counts.values()), default=0)
    found = [_kind_shown(kind, counts.get(kind), most) for kind in ProblemKind]
    return sorted(found, key=lambda one: (list(Severity).index(one.kind.severity), -one.share))


def _kind_shown(kind: ProblemKind, count: ProblemCount | None, most: int) -> KindShown:
    share = math.ceil(100 * count.problems / most) if count and most else 0
    return KindShown(kind, count, share)


def count_problems(job: RunningJob) -> JobResult:
    """Do the work of the job. A kind that is already counted is skipped. Raises JobGone."""
    run = job.run
    if run.state not in ENDED_STATES:
        raise JobGone
    for kind in countable_kinds(run):
        key = _cache_key(run)
        kept = cache.get(key, {})
        if kind not in kept:
            cache.set(key, {**kept, kind: _count_of_kind(run, kind)}, timeout=KEPT_SECONDS)
        if not job.goes_on():
            return None
    return {}


def _count_of_kind(run: Run, kind: ProblemKind) -> int | None:
    try:
        return sum(1 for _ in islice(all_problems(run, kind), MOST_COUNTED))
    except LinkSearchTookTooLong:
        return None


def countable_kinds(run: Run) -> Sequence[ProblemKind]:
    is_read = not unread_parts(run)
    return [kind for kind in ProblemKind if is_read or not kind.needs_reading]


def _cache_key(run: Run) -> str:
    """A key that changes whenever the problems may change: at the end of the run, by readings and
    by withdrawals.
    """
    parts = LinksPart.objects.filter(run=run, written_at__isnull=False).order_by("pk")
    state = (
        run.finished_at,
        list(parts.values_list("name", "read_at")),
        WithdrawnPage.objects.filter(run=run).count(),
    )
    return f"problems/{run.pk}/{blake2b(repr(state).encode(), digest_size=16).hexdigest()}"
