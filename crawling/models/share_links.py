"""Links by which people without an account read the report of one crawl."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from crawling.models.jobs import CrawlJob


class ShareLink(models.Model):
    """A read-only link to a crawl's report. Only the SHA-256 of its token is kept."""

    crawl = models.ForeignKey(CrawlJob, models.CASCADE, related_name="share_links")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token, in hex")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(help_text="from then on it opens nothing")
    last_opened_at = models.DateTimeField(null=True, help_text="to the minute")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"share link {self.pk}"
