"""Questions for background jobs. Written by `crawling.dryrun.inquiries` only."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from crawling.models.cancelling import Cancellable

#: a job that has not answered by then never will: its worker, or the queue, was lost
LONGEST = timedelta(minutes=4)


class InquiryKind(models.TextChoices):
    """What is asked.

    The answers of seeds, the differences of a page's text in two runs, the robots.txt rule of a
    URL, the differences of two large runs, the addresses of names in seeds, clusters of copies in
    runs, the pages with passages of a text, what two texts share, what extraction rules match on
    stored pages, or the tables of a stored page.
    """

    TEST_FETCH = "test_fetch", "test fetch"
    TEXT_DIFF = "text_diff", "text comparison"
    ROBOTS = "robots", "explanation of robots.txt"
    RUN_CHANGES = "run_changes", "comparison of two runs"
    SEED_NAMES = "seed_names", "addresses of seeds"
    COPIES = "copies", "search for copies"
    TEXT_COPIES = "text_copies", "search for copies of a text"
    PASSAGES = "passages", "comparison of passages"
    RULES = "rules", "preview of extraction rules"
    TABLES = "tables", "tables of a page"


class Inquiry(Cancellable):
    """A question that is answered by reading what strangers wrote, or by long work: not in the web
    process.
    """

    kind = models.CharField(max_length=20, choices=InquiryKind)
    key = models.CharField(max_length=64, blank=True, help_text="the same for the same question")
    sealed = models.TextField(help_text="the question: an order may have secrets")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    asked_at = models.DateTimeField(auto_now_add=True)
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)
    trouble = models.TextField(blank=True, help_text="why there is no answer")

    class Meta:
        indexes = [models.Index(fields=["key"], name="inquiries_by_key")]
        verbose_name_plural = "inquiries"

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.pk}"

    @property
    def state(self) -> str:
        """waiting, working, answered, cancelled or failed."""
        if self.cancelled_at:
            return "cancelled"
        if self.ended_at:
            return "failed" if self.trouble else "answered"
        if self.asked_at < timezone.now() - LONGEST:
            return "failed"
        return "working" if self.began_at else "waiting"

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "working")

    @property
    def why_failed(self) -> str:
        """A sentence; empty unless it failed or was cancelled."""
        late = "No background worker has answered in time. Ask again, or see Health."
        return (self.trouble or late) if self.state in ("failed", "cancelled") else ""
