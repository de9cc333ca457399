"""`crawl cancel-experiment`."""

from __future__ import annotations

from crawling.base.errors import NotFound
from crawling.dashboard.management.cancelling import cancel_command
from crawling.jobs.cancel import cancel_job
from experiments.models import Experiment


def _cancel_experiment(number: int) -> str:
    experiment = Experiment.objects.filter(pk=number).first()
    if experiment is None:
        raise NotFound(f"There is no experiment {number}.")
    cancel_job(experiment.job, by=None)
    return f"Experiment {number}"


COMMANDS = (
    cancel_command(
        "experiment", "end an experiment that waits or runs", "on Experiments", _cancel_experiment
    ),
)
