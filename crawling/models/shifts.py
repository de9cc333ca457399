"""A run's processes and their shifts.

Written by `crawling.runs.crawls` and `crawling.runs` only.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from allocation.models import Process
from crawling.models.jobs import CrawlJob, Run


class RunProcess(models.Model):
    """One of a run's processes. It serves its share of the hosts, and has one row in the pool."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="processes")
    number = models.PositiveSmallIntegerField(help_text="from 0; hosts are placed on numbers")
    serving = models.BooleanField(
        db_default=True, help_text="whether hosts are placed on it; not while it finds no worker"
    )
    is_extra = models.BooleanField(
        db_default=False,
        default=False,
        help_text="whether it was added for an idle worker, and leaves when its work session ends",
    )
    is_retired = models.BooleanField(
        db_default=False, default=False, help_text="whether it has left the run; it may come back"
    )
    bank_process = models.OneToOneField(
        Process, models.PROTECT, null=True, related_name="run_process"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "number"], name="processes_of_a_run_are_numbered"
            )
        ]
        indexes = [
            models.Index(
                fields=["run"],
                condition=Q(bank_process=None),
                name="processes_not_enrolled",
            ),
            models.Index(
                fields=["run"],
                condition=Q(is_extra=True, is_retired=False),
                name="extra_processes",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run} process {self.number}"

    def is_surplus(self, crawl: CrawlJob) -> bool:
        """Whether the current order of its crawl has fewer processes."""
        return crawl.process_limit is not None and self.number >= crawl.process_limit


class Shift(models.Model):
    """One RQ job's turn at a run. Writes to hosts and URLs are accepted only with the shift's
    id.
    """

    process = models.ForeignKey(RunProcess, models.CASCADE, related_name="shifts")
    epoch = models.BigIntegerField(help_text="of the pool's process; one work session an epoch")
    worker = models.CharField(max_length=200)
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    ending = models.CharField(max_length=200, blank=True, help_text="why it ended")
    fetch_threads = models.JSONField(
        default=list,
        blank=True,
        help_text="what each fetch thread does: its number, step, URL, and since when",
    )
    used = models.JSONField(
        default=dict,
        blank=True,
        help_text="what it uses of each resource class, as it was last measured",
    )
    deciding_seconds = models.FloatField(
        default=0.0,
        db_default=0.0,
        help_text="from asking the pool to its answer, all requests of the session added up",
    )

    class Meta:
        verbose_name = "work session"
        constraints = [
            models.UniqueConstraint(fields=["process", "epoch"], name="one_shift_an_epoch"),
            models.UniqueConstraint(
                fields=["process"], condition=Q(ended_at=None), name="one_live_shift_a_process"
            ),
        ]

    def __str__(self) -> str:
        return f"work session {self.pk}"
