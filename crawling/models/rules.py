"""Rules that people have set for crawls: edits of orders, the blocklist, exceptions from
robots.txt.

Written by `crawling.runs.crawls` and `crawling.runs`.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from crawling.models.jobs import CrawlJob
from crawling.orders.fields import format_value
from crawling.orders.scope.blocklist import BlocklistKind


class OrderRevision(models.Model):
    """One edit of an order: the user who made it, and the changed fields with their old and new
    values.
    """

    crawl = models.ForeignKey(CrawlJob, models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField(help_text="the first edit makes revision 2")
    changes = models.JSONField(help_text="from and to, by field")
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
                fields=["crawl", "number"], name="revisions_of_a_crawl_are_numbered"
            )
        ]

    def __str__(self) -> str:
        return f"revision {self.number}"

    def in_words(self) -> list[tuple[str, str, str]]:
        """Each field with its old and its new value, in words."""
        return [
            (name, format_value(before), format_value(after))
            for name, (before, after) in self.changes.items()
        ]


class BlocklistEntry(models.Model):
    """An entry of the list of URLs that no crawl may fetch.

    A row never changes, except that its entry is removed, and the row stays even then. So the
    numbers of rows identify a state of the list.
    """

    kind = models.CharField(
        max_length=10, choices=[(kind.value, kind.value) for kind in BlocklistKind]
    )
    text = models.CharField(max_length=500)
    reason = models.CharField(max_length=300)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="empty: the command line",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "text"],
                condition=Q(removed_at=None),
                name="the_blocklist_holds_an_entry_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.text}"


class RobotsException(models.Model):
    """A permission for a crawl, for a limited time, to fetch URLs that a host's robots.txt forbids,
    with the reason that an administrator gave.
    """

    crawl = models.ForeignKey(CrawlJob, models.CASCADE, related_name="robots_exceptions")
    host = models.CharField(max_length=260, help_text="as `Address.host_key` spells it")
    reason = models.CharField(max_length=300)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="empty: the command line",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="an_exception_lasts_a_while"
            )
        ]

    def __str__(self) -> str:
        return f"{self.host} for {self.crawl_id}"
