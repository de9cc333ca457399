"""The only writer of experiments and their requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from crawling.base.audit import record_action
from crawling.jobs.enqueue import open_job
from crawling.jobs.kinds import job_kinds
from crawling.jobs.running_job import JobGone, RunningJob
from experiments.models import (
    JOB_KIND,
    Experiment,
    ExperimentKind,
    ExperimentOutcome,
    ExperimentRequest,
)


@dataclass(frozen=True)
class AttemptResult:
    number: int
    attempt: int
    started_at: datetime
    ended_at: datetime
    waited_seconds: float
    outcome: ExperimentOutcome
    deadlocked: bool = False
    pages: int = 0
    deciding_seconds: float = 0.0
    unsafe_grants: int | None = None
    detail: str = ""
    round: int = 1


class RunningExperiment:
    """An experiment whose job is running."""

    def __init__(self, experiment: Experiment, job: RunningJob) -> None:
        self.experiment, self._job = experiment, job
        self._done = 0

    def goes_on(self) -> bool:
        """Whether the experiment may go on, since no user has cancelled it; this also stores its
        progress in its job.
        """
        try:
            self._job.note(done=self._done)
        except JobGone:
            return False
        return True

    def record(self, policy: str, tried: AttemptResult) -> None:
        ExperimentRequest.objects.create(experiment=self.experiment, policy=policy, **asdict(tried))
        self._done += tried.attempt == 1


def make_experiment(
    *,
    requests: int,
    bound_seconds: float,
    seed: int,
    policies: Sequence[str],
    kind: str = ExperimentKind.THREADS,
    by: User | None = None,
) -> Experiment:
    with transaction.atomic():
        experiment = Experiment.objects.create(
            kind=kind,
            requests=requests,
            bound_seconds=bound_seconds,
            seed=seed,
            policies=list(policies),
            job=open_job(job_kinds()[JOB_KIND], None, by=by),
        )
        record_action(by, experiment, "start")
    return experiment


def count_unsafe_grants(
    experiment: Experiment, policy: str, found: Mapping[tuple[int, int], int]
) -> None:
    """Store the number of unsafe grants to each attempt, by number and attempt; all other attempts
    get 0.
    """
    tries = ExperimentRequest.objects.filter(experiment=experiment, policy=policy)
    with transaction.atomic():
        tries.update(unsafe_grants=0)
        for (number, attempt), units in found.items():
            if units:
                tries.filter(number=number, attempt=attempt).update(unsafe_grants=units)
