"""The events of a run for operators, with a line for each.

Written by `crawling.installation.run_log` only.
"""

from __future__ import annotations

from django.db import models

from crawling.models.jobs import Run


class Level(models.IntegerChoices):
    """The levels, with the numbers of Python's logging, so that `at least a warning` is a
    comparison.
    """

    INFO = 20, "info"
    WARNING = 30, "warning"
    ERROR = 40, "error"


class LogLine(models.Model):
    """One line of a run's log; `url` is set if it is about one URL."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="log", db_index=False)
    at = models.DateTimeField(auto_now_add=True)
    level = models.PositiveSmallIntegerField(choices=Level.choices)
    message = models.TextField()
    url = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["run", "id"], name="log_of_a_run"),
            models.Index(
                fields=["run", "id"], condition=models.Q(level=Level.ERROR), name="errors_of_a_run"
            ),
        ]

    def __str__(self) -> str:
        return self.message
