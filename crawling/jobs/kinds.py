"""The kinds of background jobs: each states once all that queues, pages, deletion and withdrawal
need to know about it.

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

    #: the pages' run is deleted for good
    DELETED = "deleted"
    #: some of the run's pages are withdrawn, or withdrawn pages are restored
    WITHDRAWN = "withdrawn"
    #: the installation is loaded from a back-up, which has no files of jobs
    RESTORED = "restored"
    #: archive files of the run are rewritten without withdrawn pages
    REWRITTEN = "rewritten"


class JobEffect(Enum):
    """The effect of such an event on a job of a kind."""

    #: None: the job reveals no text or address of a page, or shows only what pages show now
    KEEP = "keep"
    #: The job is not shown any more, and its files are removed.
    FORGET = "forget"
    #: The same, unless the kind says that the job is still valid. An open job goes on.
    CHECK = "check"


class JobScope(Enum):
    """The subject of a job. A kind has at most one open job for a run, or for a crawl."""

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

    #: at most one job at a time is open for this
    subject: str
    #: id of a run
    run: int | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)


#: The result of work; None: the job ended because others wait, and continues later.
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
    #: RQ ends a job that runs longer; the next one continues
    seconds: int = 60 * 60
    queue: str = BACKGROUND
    scope: JobScope = JobScope.RUN
    #: whether a job comes before others of its queue, since a user waits for it on a page
    at_front: bool = False
    #: the time after its request at which an open job is given up; None: never
    within: timedelta | None = None
    #: the sentence of a job that is late
    late: str = ""
    #: how long a job's row is kept after the request; None for as long as its run
    kept: timedelta | None = None
    #: whether only the user who asked and administrators may cancel a job; otherwise all users who
    #: may act on the crawl
    is_of_asker: bool = False
    #: whether a failed or cancelled job can be run again from the list of jobs
    is_run_again: bool = True
    #: whether a cancelled job notices that itself and ends in order, which may take a minute;
    #: otherwise its worker ends it
    ends_itself: bool = False
    #: ids of the jobs that were requested together with a job, and are cancelled with it
    asked_with: Callable[[BackgroundJob], Iterable[int]] = lambda job: ()
    #: the row by which users know a job, which the audit log names
    about: Callable[[BackgroundJob], Model] = lambda job: job
    #: MiB that a job holds of the pool and gives back when others need them; None if it holds
    #: nothing
    memory: Callable[[BackgroundJob], int] | None = None
    #: whether a child process does the work, which is killed if it cannot end in time
    in_child: bool = False
    #: a job that was begun this often at the same bookmark is given up
    attempts: int = 3
    #: a job that was broken off for others this often at the same bookmark is given up
    breaks: int = 20
    #: whether a job has files in the storage, with names that begin with its row's `name`
    has_files: bool = False
    #: whether a job that is done replaces those before it
    keeps_latest_only: bool = False
    #: whether a job's result may still be given out; for JobEffect.CHECK
    is_valid: Callable[[BackgroundJob], bool] = lambda job: True
    #: the condition on jobs that have read one of these runs, by ids, for kinds whose jobs read
    #: others than their run or its crawl; None if there are none
    has_read: Callable[[Collection[int]], Q] | None = None
    #: the jobs that the scheduler asks for now; None if users ask
    due: Callable[[], Iterable[DueJob]] | None = None
    #: removes what a killed job leaves besides files in the storage; safe to repeat
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
    """The kinds that users request to make something from a run or its crawl."""
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
