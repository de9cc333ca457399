"""Inquiries of pages, which background jobs answer. Written by `crawling.jobs` only, like all rows
of this table.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import models
from django.utils import timezone

from crawling.models.background_jobs import BackgroundJob

#: the longest time for an answer; later none will come, since the worker or the queue was lost
LONGEST = timedelta(minutes=4)
LATE = "No background worker has answered in time. Ask again, or see Health."


class InquiryKind(models.TextChoices):
    """The kinds of inquiries in the crawler's own rooms; uses of crawls have more (`QUESTIONS`).

    They ask for the answers of seeds, the differences of a page's text or picture in two runs, the
    effect of rendering on a page, the robots.txt rule for a URL, the differences between two large
    runs, or the addresses of names in seeds.
    """

    TEST_FETCH = "test_fetch", "test fetch"
    TEXT_DIFF = "text_diff", "text comparison"
    PICTURE_DIFF = "picture_diff", "picture comparison"
    RENDERING_DIFF = "rendering_diff", "comparison with the plain page"
    ROBOTS = "robots", "explanation of robots.txt"
    RUN_CHANGES = "run_changes", "comparison of two runs"
    SEED_NAMES = "seed_names", "addresses of seeds"


#: the labels of all kinds of inquiries, by name; `crawling.previews.jobs` adds each
QUESTIONS: dict[str, str] = {}


class _Inquiries(models.Manager["Inquiry"]):
    """The inquiries that are not forgotten."""

    def get_queryset(self) -> models.QuerySet[Inquiry]:
        return super().get_queryset().filter(kind__in=tuple(QUESTIONS), is_forgotten=False)


class Inquiry(BackgroundJob):
    """A question whose answer requires reading strangers' data or long work, so that the web
    process must not find it. Equal questions have the same `subject`. `spec` has the question,
    sealed, since an order may have secrets.
    """

    objects = _Inquiries()  # type: ignore[misc]

    class Meta:
        proxy = True
        verbose_name_plural = "inquiries"

    def __str__(self) -> str:
        return f"{QUESTIONS[self.kind]} {self.pk}"

    @property
    def answer(self) -> dict[str, Any] | None:
        """The answer; None if there is none yet."""
        found: dict[str, Any] | None = self.result
        return found

    @property
    def state(self) -> str:
        """waiting, working, answered, cancelled or failed."""
        if self.ended_at is None and self.asked_at < timezone.now() - LONGEST:
            return "failed"
        state = super().state
        return "answered" if state == "done" else state

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "working")

    @property
    def why_failed(self) -> str:
        """A sentence; empty unless the inquiry failed or was cancelled."""
        return (self.trouble or LATE) if self.state in ("failed", "cancelled") else ""
