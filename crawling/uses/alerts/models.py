"""Listeners, deliveries, and notices of lasting states.

Written by modules of `crawling.uses.alerts`; notices by `crawling.uses.alerts.notify` only.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from crawling.base.encrypted_text import seal, unseal
from crawling.models.jobs import CrawlJob, NotDeletedManager
from crawling.uses.alerts.wording import MAILTO


class Listener(models.Model):
    """A server (a webhook) or a mailbox (mailto:) that receives alerts.

    The secret signs the messages to a webhook. A user's own listener has neither a name nor an
    address, and gets only the weekly summary. The user has chosen it, and administrators cannot
    change it.
    """

    name = models.CharField(max_length=100)
    url = models.TextField()
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        related_name="weekly_summary",
        help_text="who gets a weekly summary of the own crawls, at the address of the account",
    )
    message_format = models.CharField(
        max_length=10,
        default="json",
        db_default="json",
        help_text="of a webhook's body: `crawling.uses.alerts`",
    )
    sealed = models.TextField(help_text="its secret, by `crawling.base.encrypted_text`")
    events = ArrayField(models.CharField(max_length=20))
    crawl = models.ForeignKey(
        CrawlJob,
        models.CASCADE,
        null=True,
        related_name="+",
        help_text="only of this crawl, with which it goes; empty: of all, and of pools",
    )
    week_told_at = models.DateTimeField(
        null=True, help_text="end of the latest week that it was told of, or when it first asked"
    )
    is_on = models.BooleanField(default=True)
    removal_asked_at = models.DateTimeField(
        null=True, help_text="when it was deleted; it can be restored for a day"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects: models.Manager[Listener] = NotDeletedManager()
    all_objects: models.Manager[Listener] = models.Manager()

    class Meta:
        ordering = ["name", "pk"]
        base_manager_name = "all_objects"
        constraints = [
            models.UniqueConstraint(
                fields=["name"],
                condition=Q(user=None, removal_asked_at=None),
                name="listeners_differ_by_name",
            )
        ]

    def __str__(self) -> str:
        return f"weekly summary for {self.user.get_username()}" if self.user else self.name

    @property
    def address(self) -> str:
        """The address for alerts. The address of an account may change."""
        return f"{MAILTO}{self.user.email}" if self.user else self.url

    @property
    def account(self) -> User | None:
        """The user in whose time zone the listener's week ends."""
        return self.user or self.created_by

    @property
    def secret(self) -> str:
        """Raises SealBroken."""
        return str(unseal(self.sealed))

    @secret.setter
    def secret(self, secret: str) -> None:
        self.sealed = seal(secret)


class Delivery(models.Model):
    """One event for one listener.

    It is stored together with the event, and sent afterwards until it has arrived or was tried too
    often.
    """

    listener = models.ForeignKey(Listener, models.CASCADE, related_name="deliveries")
    crawl = models.ForeignKey(CrawlJob, models.SET_NULL, null=True, related_name="+")
    event = models.CharField(max_length=20)
    body = models.TextField(help_text="the facts, in JSON; chats are sent a message made of them")
    created_at = models.DateTimeField(auto_now_add=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(
        null=True, help_text="empty: it has arrived, or was given up"
    )
    delivered_at = models.DateTimeField(null=True)
    outcome = models.CharField(
        max_length=300, blank=True, help_text="of the last attempt, a sentence"
    )

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(
                fields=["next_try_at"],
                condition=Q(next_try_at__isnull=False),
                name="deliveries_to_try",
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} for {self.listener}"


class Notice(models.Model):
    """A lasting state of which listeners were alerted. The row is deleted when the state ends, so
    that the next such state causes an alert again.
    """

    key = models.CharField(
        max_length=100,
        unique=True,
        help_text="what it is the state of: `wait/RUN`, `unsafe/POOL`, `missing/POOL`",
    )
    sentence = models.TextField()
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key"]

    def __str__(self) -> str:
        return self.key
