"""The counts of runs.

Written by `crawling.frontier` only.
"""

from __future__ import annotations

from django.db import models

from crawling.models.frontier import UrlState
from crawling.models.jobs import Run


class RunStatusCount(models.Model):
    """The number of a run's URLs that ended with a status. Written under the run's lock, so one row
    for each status suffices.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="status_counts", db_index=False)
    state = models.CharField(
        max_length=1, choices=UrlState.choices, help_text="succeeded, failed or excluded"
    )
    status = models.SmallIntegerField()
    urls = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "state", "status"], name="counts_by_status")
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.status}"


class RunTotal(models.Model):
    """The sums of all `RunCount` of a run. They are updated together with these under the run's
    lock, since a long run has many.
    """

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="total")
    discovered = models.BigIntegerField(db_default=0)
    fetched = models.BigIntegerField(db_default=0)
    succeeded = models.BigIntegerField(db_default=0)
    failed = models.BigIntegerField(db_default=0)
    excluded = models.BigIntegerField(db_default=0)
    bytes = models.BigIntegerField(db_default=0)
    quarantined = models.BigIntegerField(db_default=0)
    duplicate = models.BigIntegerField(db_default=0)
    reused = models.BigIntegerField(db_default=0)
    saved_bytes = models.BigIntegerField(db_default=0)
    files = models.BigIntegerField(
        db_default=0, help_text="of those fetched, the files that pages load"
    )

    def __str__(self) -> str:
        return f"{self.run_id} {self.fetched}"


class RunCount(models.Model):
    """The counts of one process of a run in one minute."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="counts", db_index=False)
    process_number = models.PositiveSmallIntegerField()
    minute = models.DateTimeField()
    discovered = models.BigIntegerField(db_default=0)
    fetched = models.BigIntegerField(db_default=0)
    succeeded = models.BigIntegerField(db_default=0)
    failed = models.BigIntegerField(db_default=0)
    excluded = models.BigIntegerField(db_default=0)
    quarantined = models.BigIntegerField(
        db_default=0, help_text="less those that were let go again"
    )
    duplicate = models.BigIntegerField(db_default=0)
    reused = models.BigIntegerField(
        db_default=0, help_text="of those fetched, the answers taken from other crawls"
    )
    saved_bytes = models.BigIntegerField(
        db_default=0, help_text="of archive files, by payloads that were stored before"
    )
    bytes = models.BigIntegerField(db_default=0)
    files = models.BigIntegerField(
        db_default=0, help_text="of those fetched, the files that pages load"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "process_number", "minute"], name="counts_by_process_and_minute"
            )
        ]
        indexes = [
            models.Index(fields=["minute"], name="counts_by_minute"),
            # The counts of a day in a run of ten processes are in as many blocks as there are rows,
            # so a chart reads only the index.
            models.Index(
                fields=["run", "minute"],
                include=["fetched", "failed", "discovered", "bytes"],
                name="counts_charted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.minute:%H:%M}"
