"""The work of an experiment's job: it runs the policies by turns."""

from __future__ import annotations

from crawling.base.errors import CrawlError
from crawling.jobs.kinds import JobResult
from crawling.jobs.running_job import JobWaits, RunningJob
from experiments.crawl_workload import WORKERS, plan_crawls
from experiments.models import Experiment, ExperimentKind
from experiments.policy_run import PolicyRun
from experiments.shift_run import ShiftPolicyRun, remove_crawls_of_experiment
from experiments.shift_workers import running_workers
from experiments.store import RunningExperiment
from experiments.synthetic_web import serve_web
from experiments.workload import make_workload, rounds_by_turns

#: the bookmark of a job that has begun; the job cannot be continued from there
BEGUN = "begun"
LEFT = "it waits until the crawls that it ordered have ended, and are deleted"


class ExperimentFailure(CrawlError):
    """Its process has ended unexpectedly; its remains are removed."""


def run_experiment(job: RunningJob) -> JobResult:
    """Run the experiment of a job; if the job was killed before, remove what it left.

    However this ends, no units stay held. Raises ExperimentFailure, JobGone if the job is
    cancelled, and JobWaits while crawls cannot be removed.
    """
    experiment = Experiment.objects.select_related("job__by").get(job=job.row)
    if job.row.bookmark:
        _clear_up(experiment)
        raise ExperimentFailure
    of = experiment.requests * len(experiment.policies)
    job.bookmark(BEGUN, done=0, of=of)
    try:
        if experiment.kind == ExperimentKind.SHIFTS:
            _run_shifts(RunningExperiment(experiment, job))
        else:
            _run_threads(RunningExperiment(experiment, job))
        job.note(done=of)
    except KeyboardInterrupt as stopped:
        raise ExperimentFailure(
            f"{experiment} was broken off; its units are released."
        ) from stopped
    finally:
        _clear_up(experiment)
    return {}


def _clear_up(experiment: Experiment) -> None:
    if not remove_crawls_of_experiment(experiment):
        raise JobWaits(LEFT)


def _run_threads(running: RunningExperiment) -> None:
    experiment = running.experiment
    workload = make_workload(requests=experiment.requests, seed=experiment.seed)
    with serve_web() as web:
        runs: dict[str, PolicyRun] = {}
        for number, policy, jobs in rounds_by_turns(workload.jobs, experiment.policies):
            if policy not in runs:
                runs[policy] = PolicyRun(running, policy, workload, web)
            runs[policy].run(number, jobs)


def _run_shifts(running: RunningExperiment) -> None:
    """Run an experiment on shifts. The crawls are aborted and removed while their workers can still
    end the shifts.
    """
    experiment = running.experiment
    workload = plan_crawls(crawls=experiment.requests, seed=experiment.seed)
    with running_workers(WORKERS) as workers:
        try:
            runs: dict[str, ShiftPolicyRun] = {}
            for number, policy, sites in rounds_by_turns(workload.sites, experiment.policies):
                if policy not in runs:
                    runs[policy] = ShiftPolicyRun(running, policy, workload, workers)
                runs[policy].run(number, sites)
        finally:
            remove_crawls_of_experiment(experiment)
