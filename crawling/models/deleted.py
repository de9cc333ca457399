"""Deleted items that can be restored for a while. Deleted crawls and runs keep their own rows.

Written by `crawling.runs.crawls` only.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models

#: the time in which anything that people delete can be restored
RESTORABLE = timedelta(hours=24)


class DeletedKind(models.TextChoices):
    """Kinds of things that can be restored."""

    CRAWL = "crawl"
    RUN = "run"
    TEMPLATE = "template"
    VIEW = "view"
    SCHEDULE = "schedule"
    BLOCKLIST = "blocklist"


class DeletedItem(models.Model):
    """A small deleted item, with the data to restore it."""

    kind = models.CharField(max_length=10, choices=DeletedKind.choices)
    name = models.CharField(max_length=600, help_text="as lists showed it")
    content = models.JSONField(help_text="what the service that makes such a thing is given")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        related_name="+",
        help_text="the only user who may see it; empty: all users",
    )
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    deleted_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = "deleted item"

    def __str__(self) -> str:
        return self.name
