"""Extractors: rules under a name. Written by `crawling.uses.extraction.extractors` only."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from crawling.orders.sections.reading import MAX_NAME_LENGTH, REVISION_MARK


class Extractor(models.Model):
    """Rules under a name. The row stays after deletion, since orders refer to its revisions."""

    name = models.CharField(max_length=MAX_NAME_LENGTH, unique=True)
    revision = models.PositiveIntegerField(default=1, help_text="the newest")
    rules = models.JSONField(help_text="of that revision: CSS selectors by the names of fields")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    changed_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, help_text="since then it is deleted")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def reference(self) -> str:
        return f"{self.name}{REVISION_MARK}{self.revision}"


class ExtractorRevision(models.Model):
    """The rules of an extractor, as they were saved at one time. The newest rules have a revision,
    too.
    """

    extractor = models.ForeignKey(
        Extractor, models.CASCADE, related_name="revisions", db_index=False
    )
    number = models.PositiveIntegerField()
    rules = models.JSONField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="empty: the command line",
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(
                fields=["extractor", "number"], name="revisions_of_an_extractor_are_numbered"
            )
        ]

    def __str__(self) -> str:
        return f"revision {self.number}"
