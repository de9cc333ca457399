"""The kinds of background jobs. A kind states in one place all that queues, pages, deletion and
withdrawal need to know of its jobs. The rooms above this one declare their kinds, and
`crawling.apps` registers them.
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
    """A change of pages that a job has read."""

    #: the run of the pages is deleted permanently
    DELETED = "deleted"
    #: some of the run's pages are withdrawn, or withdrawn pages are restored
    WITHDRAWN = "withdrawn"
    #: the installation is loaded from a back-up, which has no files of jobs
    RESTORED = "restored"
    #: archive files of the run are rewritten without withdrawn pages
    REWRITTEN = "rewritten"


class JobEffect(Enum):
    """The effect of a JobEvent on a job of a kind."""

    #: No effect: the job reveals no text or address of a page, or shows only texts that pages show
    #: now.
    KEEP = "keep"
    #: The job is no longer shown, and its files are removed.
    FORGET = "forget"
    #: The same as FORGET if the result is no longer valid, which the kind decides; otherwise none.
    #: An open job continues.
    CHECK = "check"


class JobScope(Enum):
    """The subject of a job. A kind has at most one open job for each run, or for each crawl."""

    RUN = "run"
    CRAWL = "crawl"
    INSTALLATION = "installation"


#: the effects on jobs whose results are rows or files of the crawl; an event itself changes these
#: rows and files
OF_ROWS = {
    JobEvent.DELETED: JobEffect.FORGET,
    JobEvent.WITHDRAWN: JobEffect.KEEP,
    JobEvent.RESTORED: JobEffect.KEEP,
    JobEvent.REWRITTEN: JobEffect.KEEP,
}
#: the effects on jobs whose results quote pages, in rows or files. A rewriting follows the
#: withdrawal of the removed pages, and the withdrawal has already forgotten these jobs
OF_TABLES = {
    JobEvent.DELETED: JobEffect.FORGET,
    JobEvent.WITHDRAWN: JobEffect.FORGET,
    JobEvent.RESTORED: JobEffect.FORGET,
    JobEvent.REWRITTEN: JobEffect.KEEP,
}
#: the time for which a job that no user requested is kept after its end
KEPT_HOUR, KEPT_DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True)
class DueJob:
    """A job that is due without a user's request."""

    #: at most one job at a time is open for a subject
    subject: str
    #: id of a run
    run: int | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)


#: The result of the work. None if the job ended for the sake of others and continues later.
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
    #: the name in addresses, on the command line and in the table
    name: str
    #: the name of the result in sentences
    label: str
    #: the word for the state of a finished job
    done: str
    #: does the work; raises CrawlError with the reason why there is no result, or JobGone
    work: Callable[[RunningJob], JobResult]
    #: the effect of each JobEvent on its jobs
    effects: Mapping[JobEvent, JobEffect]
    #: the seconds after which RQ ends a job; the next job continues its work
    seconds: int = 60 * 60
    queue: str = BACKGROUND
    scope: JobScope = JobScope.RUN
    #: whether a job comes before others of its queue, since a user waits for it on a page
    at_front: bool = False
    #: the time after its request at which an open job is given up; None if it is never given up
    within: timedelta | None = None
    #: the sentence shown for a job that is late
    late: str = ""
    #: the time for which a job's row is kept after the request; None to keep it as long as its run
    kept: timedelta | None = None
    #: whether only the requesting user and administrators may cancel a job; otherwise all users who
    #: may act on the crawl may do so
    is_of_asker: bool = False
    #: whether users can run a failed or cancelled job again from the list of jobs
    is_run_again: bool = True
    #: whether a job notices its own cancellation and ends in order, which may take a minute;
    #: otherwise its worker ends it
    ends_itself: bool = False
    #: ids of the jobs that were requested together with a job, and are cancelled with it
    asked_with: Callable[[BackgroundJob], Iterable[int]] = lambda job: ()
    #: the row by which users know a job; the audit log names it
    about: Callable[[BackgroundJob], Model] = lambda job: job
    #: the MiB that a job holds of the pool and releases when others need them; None if it holds
    #: nothing
    memory: Callable[[BackgroundJob], int] | None = None
    #: whether a child process does the work; it is killed if it cannot end in time
    in_child: bool = False
    #: the number of attempts at the same bookmark after which a job is given up
    attempts: int = 3
    #: the number of interruptions for others at the same bookmark after which a job is given up
    breaks: int = 20
    #: whether a job has files in the storage; their names begin with the `name` of its row
    has_files: bool = False
    #: whether a finished job replaces earlier ones
    keeps_latest_only: bool = False
    #: whether a job's result may still be given out; for JobEffect.CHECK
    is_valid: Callable[[BackgroundJob], bool] = lambda job: True
    #: the condition on jobs that have read one of these runs (ids), for kinds whose jobs read more
    #: runs than their own; None for other kinds
    has_read: Callable[[Collection[int]], Q] | None = None
    #: the jobs that the scheduler requests now; None if users request them
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
        """Whether the work is for the installation itself, without a user's request."""
        return self.kept is not None and not self.is_of_asker

    @property
    def broken_off(self) -> str:
        return BROKEN_OFF.format("once" if self.attempts == 1 else f"{self.attempts} times")

    @property
    def no_time(self) -> str:
        return NO_TIME.format(self.breaks)


_KINDS: dict[str, JobKind] = {}


def register(kinds: Iterable[JobKind]) -> None:
    """Register these kinds. Raises ValueError if another kind has the same name."""
    for kind in kinds:
        if _KINDS.setdefault(kind.name, kind) is not kind:
            raise ValueError(f"there are two kinds of jobs {kind.name}")


def job_kinds() -> Mapping[str, JobKind]:
    return _KINDS


def kinds_of_runs() -> Mapping[str, JobKind]:
    """The kinds of jobs that users request to make something of a run or its crawl."""
    return {
        name: kind
        for name, kind in _KINDS.items()
        if kind.kept is None and kind.scope is not JobScope.INSTALLATION
    }


def kind_of(job: BackgroundJob) -> JobKind:
    """The kind of a job. Raises KeyError if this version does not have the kind."""
    return _KINDS[job.kind]


def state_of(job: BackgroundJob) -> str:
    """The job's state. A finished job has the word of its kind."""
    return kind_of(job).done if job.state == "done" else job.state
