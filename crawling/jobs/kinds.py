"""The kinds of background jobs: each says once all that queues, pages, deletion and withdrawal need
to know of it.

Rooms above this one declare their kinds, and `crawling.apps` registers them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any

from django.db.models import Model, Q

from crawling.jobs.rq_jobs import BACKGROUND, RowJob
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob


class JobEvent(Enum):
    """An event of pages that a job has read."""

    #: their run is deleted for good
    DELETED = "deleted"
    #: some of the run's pages are withdrawn, or what was withdrawn is there again
    WITHDRAWN = "withdrawn"
    #: the installation is loaded from a back-up, which has no files of jobs
    RESTORED = "restored"
    #: archive files of the run are rewritten without withdrawn pages
    REWRITTEN = "rewritten"


class JobEffect(Enum):
    """The effect of such an event on a job of a kind."""

    #: nothing: no text or address of a page can be learned from it, or it shows what pages show now
    KEEP = "keep"
    #: The job is not shown any more, and its files are removed.
    FORGET = "forget"
    #: so, unless its kind says that it is still valid; one that is open goes on
    CHECK = "check"


class JobScope(Enum):
    """The subject of a job. Of a kind, one job at a time is open for a run, or for a crawl."""

    RUN = "run"
    CRAWL = "crawl"
    INSTALLATION = "installation"


#: the effects on jobs whose results are rows or files of the crawl; an event already changes these
#: rows and files
OF_ROWS = {
    JobEvent.DELETED: JobEffect.FORGET,
    JobEvent.WITHDRAWN: JobEffect.KEEP,
    JobEvent.RESTORED: JobEffect.KEEP,
    JobEvent.REWRITTEN: JobEffect.KEEP,
}
#: the effects on jobs whose results quote pages, in their rows or files; a rewriting comes after
#: the withdrawal of what it removes, which has forgotten them
OF_TABLES = {
    JobEvent.DELETED: JobEffect.FORGET,
    JobEvent.WITHDRAWN: JobEffect.FORGET,
    JobEvent.RESTORED: JobEffect.FORGET,
    JobEvent.REWRITTEN: JobEffect.KEEP,
}
#: how long a job that no user asks for is kept after its end
KEPT_HOUR, KEPT_DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True)
class DueJob:
    """A job that is due though no user has asked for it."""

    #: one job at a time is open for it
    subject: str
    #: id of a run
    run: int | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)


#: The result of work; None: it ended since others wait, and goes on later.
JobResult = Mapping[str, Any] | None
BROKEN_OFF = (
    "It was broken off {} at the same place. The worker's log says why; its machine may have too "
    "little memory."
)
NO_TIME = (
    "It was broken off {} times at the same place, since other processes needed the memory. Ask "
    "for it again when fewer crawls run."
)


@dataclass(frozen=True)
class JobKind:
    #: in addresses, on the command line and in the table
    name: str
    #: in sentences: what it makes
    label: str
    #: the word for its state, once it is done
    done: str
    #: Raises CrawlError with the reason why there is no result; JobGone.
    work: Callable[[RunningJob], JobResult]
    #: the effect of each JobEvent on its jobs
    effects: Mapping[JobEvent, JobEffect]
    #: RQ ends one that runs this long; the next one continues
    seconds: int = 60 * 60
    queue: str = BACKGROUND
    scope: JobScope = JobScope.RUN
    #: whether it comes before others of its queue, as a user waits for it on a page
    at_front: bool = False
    #: one that has not ended so long after it was asked for is given up; None: it is waited for
    within: timedelta | None = None
    #: the sentence of a job that is late
    late: str = ""
    #: how long its row is kept after it was asked for; None: as long as its run
    kept: timedelta | None = None
    #: whether who has asked, and administrators, cancel it; otherwise all who act on the crawl
    is_of_asker: bool = False
    #: whether one that failed, or was cancelled, is run again from the list of jobs
    is_run_again: bool = True
    #: whether one that is cancelled looks itself, and ends in order, which may take a minute;
    #: otherwise its worker ends it
    ends_itself: bool = False
    #: ids of the jobs that were asked for together with one, and are cancelled with it
    asked_with: Callable[[BackgroundJob], Iterable[int]] = lambda job: ()
    #: the row that a user knows it by, which the audit log names
    about: Callable[[BackgroundJob], Model] = lambda job: job
    #: MiB that it holds of the pool, and gives back when others need them; None: it holds nothing
    memory: Callable[[BackgroundJob], int] | None = None
    #: whether a child process does the work, which is killed where it cannot end in time
    in_child: bool = False
    #: begun so often behind the same bookmark, it is given up
    attempts: int = 3
    #: broken off for others so often behind the same bookmark, it is given up
    breaks: int = 20
    #: whether it has files in the storage, with names that begin with `name` of its row
    has_files: bool = False
    #: whether one that is done takes the place of those before it
    keeps_latest_only: bool = False
    #: whether what one has made may still be given out; for JobEffect.CHECK
    is_valid: Callable[[BackgroundJob], bool] = lambda job: True
    #: of jobs that read several runs: the condition on those that have read one of these, by ids;
    #: None: a job reads its run, or its crawl
    has_read: Callable[[Collection[int]], Q] | None = None
    #: the jobs that the scheduler asks for now; None if users ask
    due: Callable[[], Iterable[DueJob]] | None = None
    #: removes what a job leaves that was killed, beside files in the storage; safe to repeat
    clear: Callable[[BackgroundJob], None] | None = None

    def __post_init__(self) -> None:
        if missing := set(JobEvent) - set(self.effects):
            raise ValueError(f"{self.name} does not say what happens when {missing}")

    @property
    def job(self) -> RowJob:
        return RowJob(self.seconds, self.queue, self.at_front)

    @property
    def is_of_crawl(self) -> bool:
        return self.scope is JobScope.CRAWL

    @property
    def is_upkeep(self) -> bool:
        """Whether it is work of the installation itself that no user asks for."""
        return self.kept is not None and not self.is_of_asker

    @property
    def broken_off(self) -> str:
        return BROKEN_OFF.format("once" if self.attempts == 1 else f"{self.attempts} times")

    @property
    def no_time(self) -> str:
        return NO_TIME.format(self.breaks)


_KINDS: dict[str, JobKind] = {}


def register(kinds: Iterable[JobKind]) -> None:
    """Raises ValueError if another kind has the name."""
    for kind in kinds:
        if _KINDS.setdefault(kind.name, kind) is not kind:
            raise ValueError(f"there are two kinds of jobs {kind.name}")


def job_kinds() -> Mapping[str, JobKind]:
    return _KINDS


def kinds_of_runs() -> Mapping[str, JobKind]:
    """The kinds that users ask for to make something of a run, or of its crawl."""
    return {
        name: kind
        for name, kind in _KINDS.items()
        if kind.kept is None and kind.scope is not JobScope.INSTALLATION
    }


def kind_of(job: BackgroundJob) -> JobKind:
    """Raises KeyError for a row of another version."""
    return _KINDS[job.kind]


def state_of(job: BackgroundJob) -> str:
    """The job's state, with the kind's own word for one that is done."""
    return kind_of(job).done if job.state == "done" else job.state
