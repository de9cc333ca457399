"""Experiments with policies (SEEDS P4, P5) and the results of their requests.

Written by `experiments.store`.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.urls import reverse

from crawling.models import BackgroundJob

#: the kind of the background job that runs an experiment
JOB_KIND = "experiment"


class ExperimentPolicy(models.TextChoices):
    """How the pool of an experiment decides. all_at_once is a pool without a check in which each
    request asks for its whole claim in one step. The last three are the Banker's algorithm with a
    search other than the one over the reduced scope (SEEDS P6).
    """

    NAIVE = "naive", "plain requests"
    BANKER = "banker", "Banker's algorithm"
    ALL_AT_ONCE = "all_at_once", "all at once"
    FULL_SCOPE = "full_scope", "Banker's, full scope"
    RECURSIVE = "recursive", "Banker's, recursion over all"
    UNCOVERED = "uncovered", "Banker's, recursion over uncovered"


class ExperimentKind(models.TextChoices):
    """The source of the requests: threads of the experiment, which share classes by agreement, or
    shifts of crawls that the experiment orders, which the pool's classes limit like all others.
    """

    THREADS = "threads", "threads of the experiment"
    SHIFTS = "shifts", "work sessions of crawls"


class ExperimentState(models.TextChoices):
    """The state of an experiment. Broken off: its operating-system process ended before the
    experiment, so there will be no more results. Cancelled: by a user; the results until then are
    kept.
    """

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    BROKEN_OFF = "broken_off", "broken off"
    CANCELLED = "cancelled"


class Experiment(models.Model):
    """One experiment: the same requests under each of its policies, which take turns in rounds,
    each with a pool of its own. Its job has its maker, and when it began and ended.
    """

    kind = models.CharField(
        max_length=20,
        choices=ExperimentKind,
        default=ExperimentKind.THREADS,
        db_default=ExperimentKind.THREADS,
    )
    requests = models.PositiveIntegerField(help_text="of each policy; of work sessions: crawls")
    bound_seconds = models.FloatField(help_text="a request that has waited longer in all is locked")
    seed = models.PositiveBigIntegerField(help_text="the same seed makes the same requests")
    policies = ArrayField(models.CharField(max_length=20, choices=ExperimentPolicy))
    job = models.OneToOneField(BackgroundJob, models.PROTECT, related_name="+")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"experiment {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("experiments:experiment", args=[self.pk])

    @property
    def state(self) -> ExperimentState:
        """The state of its job; `experiments.report.state_of` recognises an experiment that was
        killed.
        """
        if self.job.cancelled_at:
            return ExperimentState.CANCELLED
        if self.job.ended_at:
            return ExperimentState.BROKEN_OFF if self.job.trouble else ExperimentState.FINISHED
        return ExperimentState.RUNNING if self.job.began_at else ExperimentState.QUEUED

    def pool_name(self, policy: str) -> str:
        return f"experiment {self.pk}: {policy}"


class ExperimentOutcome(models.TextChoices):
    """The result of one attempt.

    Only `locked` is caused by waiting; breaches and crashes are counted separately.
    """

    COMPLETED = "completed", "Completed"
    LOCKED = "locked", "Locked"
    BREACH = "breach", "Breach of claim"
    CRASHED = "crashed", "Crashed"


class ExperimentRequest(models.Model):
    """One attempt at one request.

    A locked request is tried again after the others: then it has a row for each attempt.
    """

    experiment = models.ForeignKey(Experiment, models.CASCADE, related_name="tries", db_index=False)
    policy = models.CharField(max_length=20, choices=ExperimentPolicy)
    number = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField(help_text="1 for the first try")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    waited_seconds = models.FloatField(
        help_text="from being told to wait to having, all its steps added up"
    )
    deciding_seconds = models.FloatField(
        default=0.0, help_text="from asking the pool to its answer, all its steps added up"
    )
    outcome = models.CharField(max_length=20, choices=ExperimentOutcome)
    deadlocked = models.BooleanField(
        help_text="when the bound passed, no process that could finish held what it needed"
    )
    unsafe_grants = models.PositiveIntegerField(
        null=True,
        help_text="grants to it that left the pool unsafe; empty: not counted",
    )
    pages = models.PositiveIntegerField(help_text="pages it fetched while it held units")
    round = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="the turn of its policy, from 1 on"
    )
    detail = models.TextField(
        blank=True, help_text="what went wrong, where it is no matter of waiting"
    )

    class Meta:
        ordering = ["policy", "attempt", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["experiment", "policy", "number", "attempt"], name="one_row_per_try"
            )
        ]

    def __str__(self) -> str:
        return f"{ExperimentOutcome(self.outcome).label}:Request{self.number}"
