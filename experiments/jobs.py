"""The job of an experiment, which has a table of its own."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from crawling.jobs.rq_jobs import RowJob
from experiments.models import Experiment, ExperimentState

#: one that no worker took up after this is sent again: Redis may have lost it
RESEND_AFTER = timedelta(seconds=30)
EXPERIMENT = RowJob("experiment", "experiments.runner.run_queued", seconds=60 * 60)
FUNCTIONS = (EXPERIMENT.function,)


def resend_experiments() -> None:
    """Queue again those that no worker took up, and those whose worker was killed, which the job
    ends. Raises RedisError.
    """
    late = timezone.now() - RESEND_AFTER
    queued = Q(state=ExperimentState.QUEUED, created_at__lt=late)
    silent = Q(state=ExperimentState.RUNNING, seen_at__lt=late)
    experiments = Experiment.objects.filter(queued | silent).order_by("pk")
    EXPERIMENT.enqueue_lost(experiments.values_list("pk", flat=True))


DUTIES = ((resend_experiments, 10.0),)
