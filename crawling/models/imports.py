"""Imports of WARC and WACZ files. Written by `crawling.imports.import_jobs`."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from crawling.models.cancelling import Cancellable
from crawling.models.jobs import Run


class ArchiveImport(Cancellable):
    """Files of IMPORT_DIR that become a crawl with one run.

    It has ended once it has `ended_at`: with a run, unless it has `trouble`.
    """

    files = models.JSONField(help_text="their names")
    name = models.CharField(max_length=100, help_text="of the crawl")
    namespace = models.UUIDField(
        help_text="of the first archive file, by which a run is recognised that is there already"
    )
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    asked_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(
        db_default=0, help_text="how many jobs have begun it"
    )
    bytes = models.BigIntegerField(db_default=0, help_text="of all its files")
    read_bytes = models.BigIntegerField(db_default=0, help_text="of them, by the latest job")
    answers = models.BigIntegerField(db_default=0, help_text="found in what was read")
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="+")
    pages = models.BigIntegerField(db_default=0)
    left_out = models.JSONField(
        default=dict, help_text="how many records are not in the run, by the reason"
    )
    remarks = models.JSONField(
        default=dict,
        help_text="how many are there though something about them is amiss, by what that is",
    )
    trouble = models.TextField(blank=True, db_default="", help_text="why there is no run")

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(
                fields=["asked_at"], condition=models.Q(ended_at=None), name="imports_not_ended"
            )
        ]

    def __str__(self) -> str:
        return f"import {self.pk}"

    @property
    def state(self) -> str:
        """waiting, reading, storing, imported, cancelled or failed."""
        if self.cancelled_at:
            return "cancelled"
        if self.ended_at:
            return "failed" if self.trouble else "imported"
        if not self.attempts:
            return "waiting"
        return "storing" if self.bytes and self.read_bytes >= self.bytes else "reading"

    @property
    def percent(self) -> int:
        """How much of its files is read."""
        return min(100 * self.read_bytes // self.bytes, 100) if self.bytes else 0
