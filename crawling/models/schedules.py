"""Settings that operators save: schedules on which crawls start by themselves, templates of orders,
views of the list, and links by which people without an account read a crawl's report.

Each is written by one module of `crawling.runs.crawls`: `schedules`, `templates`, `saved_views`,
`share_links`.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from crawling.models.jobs import CrawlJob, Run


class Schedule(models.Model):
    """A crawl's schedule. `crawling.orders.schedules` defines the meaning of the fields.

    The crawl's row is its lock.
    """

    crawl = models.OneToOneField(CrawlJob, models.CASCADE, related_name="schedule")
    timing = models.JSONField(help_text="as crawling.orders.schedules.ScheduleTiming has it")
    anchor_at = models.DateTimeField(help_text="intervals are counted from here")
    next_at = models.DateTimeField(null=True, help_text="when it is due; empty: disabled")

    pace_minutes = models.PositiveIntegerField(
        null=True, help_text="the interval now, of one that follows the changes of pages"
    )
    judged_run = models.BigIntegerField(
        null=True, help_text="the latest run by whose changes the interval was set"
    )
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        indexes = [
            models.Index(
                fields=["next_at"], condition=Q(next_at__isnull=False), name="schedules_by_time"
            )
        ]

    def __str__(self) -> str:
        return f"schedule of {self.crawl.name}"


class ScheduledStart(models.Model):
    """A past time of a schedule, and the result. Each time is settled once, with any number of
    schedulers.
    """

    schedule = models.ForeignKey(Schedule, models.CASCADE, related_name="starts")
    due_at = models.DateTimeField()
    run = models.ForeignKey(
        Run, models.SET_NULL, null=True, related_name="+", help_text="empty: none was started"
    )
    outcome = models.CharField(max_length=300, help_text="a sentence")

    class Meta:
        ordering = ["-due_at"]
        constraints = [
            models.UniqueConstraint(fields=["schedule", "due_at"], name="a_time_is_settled_once")
        ]

    def __str__(self) -> str:
        return self.outcome


class OrderTemplate(models.Model):
    """An order under a name, without the name of a crawl and without secrets."""

    name = models.CharField(max_length=100, unique=True)
    order = models.JSONField(help_text="fields of `crawling.orders.order`")
    tags = ArrayField(models.CharField(max_length=30), default=list)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class SavedView(models.Model):
    """A filter, a search and a sort order of the list under a name, for the user who saved it or
    for all users.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views", db_index=False
    )
    name = models.CharField(max_length=40)
    query = models.CharField(max_length=1000, help_text="query string of the list")
    is_shared = models.BooleanField(default=False, help_text="whether all users see it")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="views_of_a_user_differ_by_name")
        ]

    def __str__(self) -> str:
        return self.name


class SecretLink(models.Model):
    """A read-only address for people without an account. Only the SHA-256 of its token is
    stored.
    """

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token, in hex")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(help_text="from then on it opens nothing")
    last_opened_at = models.DateTimeField(null=True, help_text="to the minute")

    class Meta:
        abstract = True
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"share link {self.pk}"


class ShareLink(SecretLink):
    """A link to a crawl's report."""

    crawl = models.ForeignKey(CrawlJob, models.CASCADE, related_name="share_links")
