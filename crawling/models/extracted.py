"""What extraction rules took out of pages. Written by `crawling.frontier.record` only."""

from __future__ import annotations

from django.db import models

from crawling.models.frontier import Url
from crawling.models.jobs import Run


class ExtractedRow(models.Model):
    """One match of one rule on one page."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="extracted", db_index=False)
    url = models.ForeignKey(Url, models.CASCADE, related_name="extracted")
    name = models.CharField(max_length=100)
    value = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["run", "id"], name="extracted_rows_of_a_run")]

    def __str__(self) -> str:
        return f"{self.name}: {self.value[:50]}"
