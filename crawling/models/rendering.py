"""The effect of rendering on the pages of a run.

Written by `crawling.frontier` only.
"""

from __future__ import annotations

from django.db import models

from crawling.models.jobs import Run


class RunRendering(models.Model):
    """A run that has rendered a page has such a row."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="rendering")
    pages = models.BigIntegerField(db_default=0, help_text="that a browser was asked to render")
    patterns = models.JSONField(
        default=dict,
        help_text="by the key of a pattern of addresses: how many of its pages were rendered, and "
        "how many of these gained links or text",
    )

    ended = models.JSONField(
        default=dict,
        db_default={},
        help_text="by fetch status: how many pages were not rendered to the end",
    )

    def __str__(self) -> str:
        return f"{self.run_id} {self.pages}"
