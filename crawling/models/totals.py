"""What all crawls together did, by minute.

Written by `crawling.housekeeping.minute_totals` only.
"""

from __future__ import annotations

from django.db import models


class MinuteTotal(models.Model):
    """The sums of `RunCount` over all runs and processes in a minute that is over."""

    minute = models.DateTimeField(primary_key=True)
    fetched = models.BigIntegerField()
    failed = models.BigIntegerField()
    discovered = models.BigIntegerField()
    bytes = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.minute:%Y-%m-%d %H:%M}"
