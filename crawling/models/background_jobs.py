"""The work of background jobs. Written by `crawling.jobs` only."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from crawling.models.jobs import Run

#: the name of a file in the storage: a folder of the kind and its run, and a name that is used only
#: once
NAME = r"^[a-z-]+[0-9]{1,19}/[0-9a-f]{32}$"


def estimated_time_in_words(seconds: float) -> str:
    """An estimated time in words. Above ten minutes or hours it is rounded to fives."""
    if seconds < 60:
        return "less than a minute"
    unit, size = ("hour", 3600) if seconds >= 2 * 3600 else ("minute", 60)
    count = round(seconds / size)
    count = count if count <= 10 else 5 * round(count / 5)
    return f"about {count:,} {unit}{'s' * (count != 1)}"


class BackgroundJob(models.Model):
    """Work that a user, or the scheduler, requests, and that a background worker does.

    A job may be killed at any moment, and continues after its `bookmark`. A job with `ended_at` has
    ended: with a `result`, unless it has `trouble`. Its kind defines the content of the JSON
    columns.
    """

    kind = models.CharField(max_length=20, help_text="name of a `crawling.jobs.kinds.JobKind`")
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="jobs")
    subject = models.CharField(
        max_length=80,
        blank=True,
        db_default="",
        help_text="of a kind, one job at a time is open for it; empty: any number",
    )
    spec = models.JSONField(default=dict, help_text="what is asked for")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="empty: the command line, or the scheduler",
    )
    asked_at = models.DateTimeField(auto_now_add=True)
    began_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True, help_text="when its worker was last heard of")
    machine = models.CharField(
        max_length=64, blank=True, db_default="", help_text="that has its files"
    )
    name = models.CharField(
        max_length=80,
        blank=True,
        db_default="",
        help_text="what the names of its files begin with; empty: its kind has none",
    )
    attempts = models.SmallIntegerField(
        db_default=0, help_text="how often it was begun behind the bookmark"
    )
    breaks = models.SmallIntegerField(
        db_default=0, help_text="how often it was broken off for others behind the bookmark"
    )
    bookmark = models.JSONField(null=True, help_text="what is done; it continues behind it")
    progress = models.JSONField(default=dict, help_text="counts; `done` and `of` give the percent")
    waits = models.TextField(
        blank=True, db_default="", help_text="why no worker is at it; empty: one is, or none yet"
    )
    result = models.JSONField(null=True)
    trouble = models.TextField(blank=True, db_default="", help_text="why there is no result")
    ended_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True, help_text="when a user cancelled it")
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="empty: the command line, if it was cancelled",
    )
    is_forgotten = models.BooleanField(
        db_default=False, default=False, help_text="no one sees it; its files are to be removed"
    )

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(name="") | Q(name__regex=NAME), name="jobs_named_as_ours"
            ),
            models.UniqueConstraint(
                fields=["name"], condition=~Q(name=""), name="one_job_for_each_name"
            ),
            models.UniqueConstraint(
                fields=["kind", "subject"],
                condition=Q(ended_at=None, is_forgotten=False) & ~Q(subject=""),
                name="one_open_job_for_a_subject",
            ),
        ]
        indexes = [
            models.Index(fields=["kind", "id"], name="jobs_by_kind"),
            models.Index(fields=["id"], condition=Q(ended_at=None), name="jobs_open"),
            models.Index(fields=["id"], condition=~Q(trouble=""), name="jobs_with_trouble"),
            models.Index(fields=["id"], condition=Q(is_forgotten=True), name="jobs_forgotten"),
            models.Index(fields=["subject"], condition=~Q(subject=""), name="jobs_by_subject"),
            models.Index(
                fields=["cancelled_at"],
                condition=Q(cancelled_at__isnull=False),
                name="jobs_cancelled",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def state(self) -> str:
        """waiting, working, done, cancelled or failed."""
        if self.cancelled_at:
            return "cancelled"
        if self.ended_at:
            return "failed" if self.trouble else "done"
        return "working" if self.began_at and not self.waits else "waiting"

    @property
    def is_open(self) -> bool:
        return self.ended_at is None

    @property
    def percent(self) -> int | None:
        """The part that is done, in percent. None if its kind does not count this, or if nothing is
        known yet.
        """
        done, of = self.progress.get("done"), self.progress.get("of")
        return min(100 * done // of, 100) if of and done is not None else None

    @property
    def time_left(self) -> str:
        """The remaining time in words; "" while it is unknown."""
        return "" if self.seconds_left is None else estimated_time_in_words(self.seconds_left)

    @property
    def seconds_left(self) -> float | None:
        """The remaining seconds by the rate so far; None while they are unknown."""
        done, of = (self.progress.get(name) or 0 for name in ("done", "of"))
        if self.state != "working" or self.began_at is None or not 0 < done <= of:
            return None
        return (timezone.now() - self.began_at).total_seconds() / done * (of - done)

    def file(self, ending: str) -> str:
        return f"{self.name}.{ending}"
