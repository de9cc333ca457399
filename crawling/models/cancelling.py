"""That a user wants no more what a user asked for. The cancelling functions write these columns,
and end the row with them: `crawling.jobs.cancel`, and `crawling.cancelling` of experiments.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Cancellable(models.Model):
    """Work of a background job that a user may cancel. Its `trouble` says so, too."""

    cancelled_at = models.DateTimeField(null=True, help_text="when a user cancelled it")
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="empty: the command line, if it was cancelled",
    )

    class Meta:
        abstract = True
