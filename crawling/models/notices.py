"""What lasts and has been told of, so that it is told once.

Written by `crawling.alerts.ongoing_alerts` only.
"""

from __future__ import annotations

from django.db import models


class Notice(models.Model):
    """A state of things that listeners were told of; the row goes when the state does, and the next
    is told anew.
    """

    key = models.CharField(
        max_length=100,
        unique=True,
        help_text="what it is the state of: `wait/RUN`, `unsafe/POOL`, `missing/POOL`",
    )
    sentence = models.TextField()
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key"]

    def __str__(self) -> str:
        return self.key
