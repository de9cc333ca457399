"""The background job that runs an experiment. It is never continued: waits depend on the moment, so
results from before a kill cannot be completed.
"""

from __future__ import annotations

from crawling.base.errors import WrongState
from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult, JobScope
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob
from experiments.models import JOB_KIND, Experiment


def _run(job: RunningJob) -> JobResult:
    # only the process that runs an experiment needs the modules that fetch crawls and pages
    from experiments.runner import run_experiment

    return run_experiment(job)


def _remove_crawls(job: BackgroundJob) -> None:
    """Remove the crawls of a job that was killed. Raises WrongState while one of them has not
    ended.
    """
    from experiments.shift_run import remove_crawls_of_experiment

    for experiment in Experiment.objects.filter(job=job):
        if not remove_crawls_of_experiment(experiment, seconds=0):
            raise WrongState(f"Crawls of {experiment} have not ended yet.")


def _experiment_of_job(job: BackgroundJob) -> Experiment:
    return Experiment.objects.get(job=job)


EXPERIMENT = JobKind(
    name=JOB_KIND,
    label="experiment",
    done="finished",
    work=_run,
    # its pages are on sites of its own, and its crawls are deleted when it ends
    effects=dict.fromkeys(JobEvent, JobEffect.KEEP),
    scope=JobScope.INSTALLATION,
    is_run_again=False,
    ends_itself=True,
    about=_experiment_of_job,
    attempts=1,
    clear=_remove_crawls,
)
KINDS = (EXPERIMENT,)
