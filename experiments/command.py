"""`crawl cancel-experiment`."""

from __future__ import annotations

from crawling.base.errors import NotFound
from crawling.dashboard.management.cancelling import cancel_command
from experiments.cancel import cancel_experiment
from experiments.models import Experiment


def _cancel(number: int) -> str:
    experiment = Experiment.objects.filter(pk=number).first()
    if experiment is None:
        raise NotFound(f"There is no experiment {number}.")
    return f"Experiment {cancel_experiment(experiment, by=None).pk}"


COMMANDS = (
    cancel_command("experiment", "end an experiment that waits or runs", "on Experiments", _cancel),
)
