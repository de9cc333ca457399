"""Sources that give crawls seeds. Written by `crawling.uses.seed_sources` only."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from crawling.models.jobs import CrawlJob


class SeedSourceKind(models.TextChoices):
    FOLDER = "folder", "folder"
    FEED = "feed", "feed"


class SeedSource(models.Model):
    """A folder of the crawl or a feed that is read at intervals. The addresses in it become
    seeds.
    """

    crawl = models.ForeignKey(CrawlJob, models.CASCADE, related_name="seed_sources")
    kind = models.CharField(max_length=10, choices=SeedSourceKind)
    url = models.TextField(blank=True, default="", help_text="of a feed")
    minutes = models.PositiveIntegerField(help_text="from one reading to the next")
    resume = models.BooleanField(
        help_text="the latest run is resumed for new seeds if it has finished"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    next_at = models.DateTimeField(default=timezone.now, db_index=True)
    read_at = models.DateTimeField(null=True)
    unended = models.PositiveSmallIntegerField(
        db_default=0, help_text="readings that began since the latest one that ended"
    )
    etag = models.TextField(
        blank=True,
        default="",
        help_text="of a feed as it was read; the next reading asks whether it has changed",
    )
    last_modified = models.DateTimeField(null=True, help_text="the same, as the server states it")
    added = models.PositiveBigIntegerField(default=0, help_text="seeds, by all readings")
    note = models.TextField(
        blank=True, default="", help_text="what was wrong with the latest reading, a sentence"
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["crawl", "kind", "url"], name="seed_source_once")
        ]

    def __str__(self) -> str:
        return f"seed source {self.pk}: {self.url or 'folder'}"
