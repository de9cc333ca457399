"""Checkpoints that were asked for and taken.

Written by `crawling.checkpoints.checkpoint_store` only.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from crawling.models.jobs import Run


class Checkpoint(models.Model):
    """One checkpoint of a run in CHECKPOINT_DIR; it is there once it has `taken_at`, and never will
    be once it has `trouble`.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="checkpoints")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="empty: the keeper",
    )
    asked_at = models.DateTimeField(auto_now_add=True)
    taken_at = models.DateTimeField(null=True, help_text="the moment whose state it holds")
    machine = models.CharField(max_length=64, blank=True)
    directory = models.TextField(blank=True)
    bytes = models.BigIntegerField(default=0)
    urls = models.BigIntegerField(default=0)
    trouble = models.TextField(blank=True, help_text="why it could not be taken")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"checkpoint {self.pk} of {self.run}"
