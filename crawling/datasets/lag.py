"""The lag of data derived from a run's pages, and the time when it ends, approximately. Pages,
JSON, files and commands all show it, so that users do not take missing data for an empty result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from crawling.datasets.extracted_fields import AGAIN, pages_with_older_fields
from crawling.datasets.parts import (
    MOST_BEHIND,
    collected_parts,
    count_pages_behind,
    count_pages_of_runs_behind,
    lost_parts,
)
from crawling.datasets.progress import parts_to_read, unindexed_parts
from crawling.frontier import counts_of
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.running import OTHERS_WAIT
from crawling.models import BackgroundJob, LinksPart, Run
from crawling.models.background_jobs import estimated_time_in_words
from crawling.models.jobs import ENDED_STATES
from serving.ids import ids_as_parameter
from serving.listing.columns import Column

#: the number of latest jobs of a kind from which the rate is computed
RECENT_JOBS = 20
#: the steps of a part, in order, each with the kind of the job that does it
STEPS = {"written": "links", "read": "second-reading", "indexed": "indexing"}
#: the last step of the extracted fields, which are made when pages are fetched and again when rules
#: change
EXTRACTED = "extracted"


class Derived(StrEnum):
    """Data that background jobs derive from the stored pages of a run."""

    LINKS = "links"
    TEXTS = "texts"
    STRUCTURED_DATA = "structured data"
    SEARCH = "search"
    FIELDS = "extracted fields"

    @property
    def label(self) -> str:
        return LABELS.get(self, self.capitalize())

    @property
    def step(self) -> str:
        return LAST_STEPS[self]


LABELS = {Derived.SEARCH: "Search index"}
LAST_STEPS = {
    Derived.LINKS: "written",
    Derived.TEXTS: "read",
    Derived.STRUCTURED_DATA: "read",
    Derived.SEARCH: "indexed",
    Derived.FIELDS: "extracted",
}


@dataclass(frozen=True)
class Lag:
    name: Annotated[Derived, Column("links, texts, structured data, search or extracted fields")]
    behind: Annotated[
        int, Column(f"pages of the run that are not in it yet; {MOST_BEHIND:,}: so many or more")
    ]
    pages: Annotated[int, Column("of the run so far")]
    complete: Annotated[bool, Column("whether all pages of the run so far are in it")]
    state: Annotated[
        str,
        Column("complete, working, waiting, or stopped: no background job adds what is missing"),
    ]
    waits: Annotated[str, Column("why no background job is at it, if one has told")]
    until: Annotated[
        datetime | None, Column("when it is complete, about; null: it is, or no rate is known")
    ]
    percent: Annotated[int, Column("of the pages, about, those that are in it")]
    growing: Annotated[bool, Column("whether the run continues, and more pages come")] = False

    @property
    def is_more(self) -> bool:
        """Whether more pages than `behind` may be missing."""
        return self.behind >= MOST_BEHIND

    @property
    def missing(self) -> str:
        count = f"{self.behind:,}{' or more' * self.is_more} of {self.pages:,}"
        return f"{self.name.label}: {count} pages are not {DONE[self.name.step]} yet"

    @property
    def prospect(self) -> str:
        """The time when the data will be complete, or the reason why it will not be."""
        if self.until:
            seconds = (self.until - timezone.now()).total_seconds()
            return f"Complete in {estimated_time_in_words(seconds)}"
        if self.waits:
            return self.waits[0].upper() + self.waits[1:]
        if self.growing:
            return "More pages come while fetching continues"
        return MISSING if self.state == "stopped" else "A background job adds them"


NOT_AGAIN = "“Extract again” reads them"
MISSING = "Their archive is on another machine, or was not kept"
OTHERS_READ = "waits for readings of other crawls"
#: the result of a step for a page, as a word
DONE = {"written": "counted", "read": "read", "indexed": "indexed"} | {
    EXTRACTED: "read by the newest rules"
}


def are_links_due(run: Run) -> bool:
    """Whether links of the run's pages are missing and will still be added, by a work session or a
    background job on any machine.
    """
    if not count_pages_behind(run):
        return False
    jobs = open_jobs().filter(run=run, kind=STEPS["written"])
    return LinksPart.objects.filter(run=run, written_at=None).exists() or jobs.exists()


def lag_of(run: Run, name: Derived) -> Lag:
    return _lag_of_fields(run) if name is Derived.FIELDS else lags_by_run([run.pk], name)


def lags_by_run(runs: Sequence[int], name: Derived) -> Lag:
    """The lag of data derived from runs, by the runs' ids. Takes two queries if nothing is
    missing.
    """
    return _lag_by_counts(runs, name, {name.step: count_pages_of_runs_behind(runs, name.step)})


def lags_of(run: Run) -> list[Lag]:
    """The lag of all data derived from the run."""
    behind = {step: count_pages_behind(run, step) for step in STEPS}
    of_parts = [_lag_by_counts([run.pk], name, behind) for name in Derived if name.step in STEPS]
    fields = _lag_of_fields(run)
    return [*of_parts, fields] if run.crawl.extract or not fields.complete else of_parts


def _lag_of_fields(run: Run) -> Lag:
    """The lag of extracted fields. They are made when a page is fetched. After an edit of the rules
    they are made again when a user requests that.
    """
    behind, pages, job = pages_with_older_fields(run)
    is_alive = run.state not in ENDED_STATES
    if not behind:
        return Lag(Derived.FIELDS, 0, pages, True, "complete", "", None, 100, is_alive)
    state, waits = (job.state, job.waits) if job else ("stopped", NOT_AGAIN)
    # the state during the time in which shifts take up an edit
    waits = "" if waits.startswith(OTHERS_WAIT) else waits
    rate = _pages_per_second(AGAIN) if job and not waits else None
    until = timezone.now() + timedelta(seconds=behind / rate) if rate else None
    share = 100 * (pages - min(pages, behind)) // (pages or 1)
    until = until and until.replace(microsecond=0)
    return Lag(Derived.FIELDS, behind, pages, False, state, waits, until, share, is_alive)


def _lag_by_counts(runs: Sequence[int], name: Derived, behind: dict[str, int]) -> Lag:
    missing = behind[name.step]
    pages = max(missing, sum(counts.fetched for counts in counts_of(runs).values()))
    if not missing:
        return Lag(name, 0, pages, True, "complete", "", None, 100)
    steps = list(STEPS)[: list(STEPS).index(name.step) + 1]
    behind |= {step: count_pages_of_runs_behind(runs, step) for step in steps if step not in behind}
    left = _missing_page_counts(runs, pages, {step: behind[step] for step in steps})
    # the following steps wait for the first step that lacks pages
    now = next(step for step in steps if left[step])
    found = Run.objects.filter(pk__in=ids_as_parameter(runs))
    is_alive = found.exclude(state__in=ENDED_STATES).exists()
    job = _latest_job(runs, now)
    state = job.state if job else _state_without_job(runs, now, is_alive=is_alive)
    # the job waits only for its turn
    waits = job.waits if job and not job.waits.startswith(OTHERS_WAIT) else ""
    share = 100 * (pages - min(pages, left[name.step])) // pages
    until = None
    if not (is_alive or waits or state == "stopped"):
        until, waits = _expected_end(left, now, job)
    return Lag(name, missing, pages, False, state, waits, until, share, is_alive)


def _missing_page_counts(
    runs: Sequence[int], pages: int, missing: dict[str, int]
) -> dict[str, int]:
    """The number of pages that each step lacks. If not all pages were counted, their number is
    estimated from the parts that lack the step.
    """
    if max(missing.values()) < MOST_BEHIND:
        return missing
    lacking = {step: Count("pk", filter=Q(**{f"{step}_at": None})) for step in missing}
    parts = LinksPart.objects.filter(run__in=ids_as_parameter(runs))
    found = parts.aggregate(parts=Count("pk"), **lacking)
    return {
        step: max(count, round(pages * found[step] / (found["parts"] or 1)))
        if count >= MOST_BEHIND
        else count
        for step, count in missing.items()
    }


def _latest_job(runs: Sequence[int], step: str) -> BackgroundJob | None:
    """The open job of a step. The search index belongs to a machine, so the job for it has no
    run.
    """
    jobs = open_jobs().filter(Q(run__in=ids_as_parameter(runs)) | Q(run=None), kind=STEPS[step])
    return jobs.order_by("pk").first()


def _state_without_job(runs: Sequence[int], step: str, *, is_alive: bool) -> str:
    """The state without a job. If there is work for a job, the scheduler will soon request one."""
    finders: dict[str, Callable[[], Iterable[QuerySet[LinksPart]]]] = {
        "written": lambda: (collected_parts(), lost_parts()),
        "read": lambda: (parts_to_read(),),
        "indexed": lambda: (unindexed_parts(),),
    }
    found = (parts.filter(run__in=ids_as_parameter(runs)).exists() for parts in finders[step]())
    return "waiting" if is_alive or any(found) else "stopped"


def _expected_end(
    left: dict[str, int], now: str, job: BackgroundJob | None
) -> tuple[datetime | None, str]:
    """The time of completion, by the rate of each step while it works. None and the reason if the
    step `now` has waited for other jobs for longer than its work takes.
    """
    seconds, rates = dict[str, float](), {step: _pages_per_second(STEPS[step]) for step in left}
    for step, pages in left.items():
        if pages and (rate := rates[step]) is None:
            return None, ""
        seconds[step] = pages / (rate or 1) if pages else 0.0
    if job:
        passed = (timezone.now() - job.asked_at).total_seconds()
        if done := job.progress.get("done"):
            # it is assumed that other jobs get as many turns as before
            seconds[now] = max(seconds[now], left[now] * passed / done)
        elif passed > seconds[now]:
            if job.state == "waiting" and _has_job_on_other_machine(job):
                return None, OTHERS_READ
            seconds[now] = passed
    until = timezone.now() + timedelta(seconds=sum(seconds.values()))
    return until.replace(microsecond=0), ""


def _has_job_on_other_machine(job: BackgroundJob) -> bool:
    """Whether another job of these kinds is at work."""
    others = open_jobs().filter(kind__in=STEPS.values(), began_at__isnull=False, waits="")
    return others.exclude(pk=job.pk).exists()


def _pages_per_second(kind: str) -> float | None:
    """The rate of the latest jobs of this kind, not counting the time when they waited."""
    jobs = BackgroundJob.objects.filter(kind=kind).order_by("-pk")
    progress = list(jobs.values_list("progress", flat=True)[:RECENT_JOBS])
    pages, seconds = (sum(one.get(name, 0) for one in progress) for name in ("done", "seconds"))
    return pages / seconds if pages and seconds else None
