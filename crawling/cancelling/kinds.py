"""The kinds of jobs that users may cancel, and the rows that such jobs do the work of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Now

from crawling.checkpoints.jobs import CHECKPOINT
from crawling.extraction.jobs import EXTRACTION
from crawling.imports.import_jobs import clear_import
from crawling.jobs.kinds import JobKind
from crawling.jobs.removal import clear_job_files
from crawling.jobs.rq_jobs import EXPERIMENT, IMPORT, RowJob
from crawling.jobs.running import HELD_AS
from crawling.link_graph.jobs import LINK_GRAPH
from crawling.mirror.jobs import LATEST_MIRROR, MIRROR
from crawling.models import (
    ArchiveImport,
    BackgroundJob,
)
from crawling.models.cancelling import Cancellable
from crawling.models.experiments import Experiment, ExperimentState
from crawling.wacz.jobs import WACZ

UNENDED = Q(ended_at=None)
WAITS = Q(state=ExperimentState.QUEUED)
ENDED: Mapping[str, Any] = {"ended_at": Now()}


@dataclass(frozen=True)
class CancellableKind:
    """Jobs of a kind, and the rows that they do the work of."""

    #: what a job makes
    label: str
    job: RowJob
    model: type[Cancellable]
    #: of rows that have not ended
    is_open: Q
    #: removes files that a job has left that was killed; harmless if there are none
    clear: Callable[[int], None] = lambda number: None
    #: by which the pool knows what a job holds, with its number; empty: it holds nothing
    held_as: str = ""
    #: which rows are of this kind
    of: Q = field(default_factory=Q)
    #: what ends a row, beside its `trouble`
    ends: Mapping[str, Any] = field(default_factory=lambda: ENDED)
    #: whether a crawl has one for all its runs
    is_of_crawl: bool = False

    @property
    def rows(self) -> QuerySet[Any]:
        return self.model._default_manager.filter(self.of)


def of_kind(kind: JobKind) -> CancellableKind:
    """Its jobs in the table of background jobs."""

    def clear(number: int) -> None:
        job = BackgroundJob.objects.filter(pk=number, kind=kind.name).first()
        if job is not None:
            clear_job_files(kind, job)

    return CancellableKind(
        kind.label,
        kind.job,
        BackgroundJob,
        Q(ended_at=None, is_forgotten=False),
        clear,
        held_as=HELD_AS if kind.memory else "",
        of=Q(kind=kind.name),
        is_of_crawl=kind.is_of_crawl,
    )


#: of a run, by the words of addresses and of the command line
OF_RUNS: Mapping[str, CancellableKind] = {
    WACZ.name: of_kind(WACZ),
    MIRROR.name: of_kind(MIRROR),
    LATEST_MIRROR.name: of_kind(LATEST_MIRROR),
    LINK_GRAPH.name: of_kind(LINK_GRAPH),
    EXTRACTION.name: of_kind(EXTRACTION),
    CHECKPOINT.name: of_kind(CHECKPOINT),
}
IMPORTS = CancellableKind("import", IMPORT, ArchiveImport, UNENDED, clear_import)
#: not of KINDS: its job looks itself, as it may need half a minute to delete its crawls in order
EXPERIMENTS = CancellableKind(
    "experiment",
    EXPERIMENT,
    Experiment,
    Q(state__in=(ExperimentState.QUEUED, ExperimentState.RUNNING), cancelled_at=None),
    ends={
        "state": Case(When(WAITS, then=Value(ExperimentState.CANCELLED)), default=F("state")),
        "finished_at": Case(When(WAITS, then=Now()), default=F("finished_at")),
    },
)
KINDS = (*OF_RUNS.values(), IMPORTS)
