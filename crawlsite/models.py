"""Tokens with which programs log in, and users' preferences for pages."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """A program's password for one user. Only its SHA-256 is stored, so the token cannot be read
    again.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="what uses it")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(
        null=True, help_text="from then on it opens nothing; empty: it stays until it is revoked"
    )
    reads_only = models.BooleanField(
        default=False, db_default=False, help_text="whether it opens only what changes nothing"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], name="a_users_tokens_have_different_names"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class GivenPassword(models.Model):
    """A user whose password another person knows, so that it must be changed. The row exists until
    then.

    Written by `crawlsite.administration.passwords`.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="given_password"
    )
    given_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"of {self.user}"


class Preference(models.Model):
    """A user's preferences. Without a row the defaults apply.

    Written by `crawlsite.preferences`; the fields about news by `crawlsite.news`.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="preference"
    )
    refresh_seconds = models.PositiveSmallIntegerField(
        default=2, help_text="seconds between two refreshes of a live page; 0: none"
    )
    theme = models.CharField(
        max_length=10, default="auto", help_text="light, dark, or auto: as set in the browser"
    )
    density = models.CharField(max_length=12, default="comfortable", help_text="of tables")
    time_zone = models.CharField(max_length=64, default="UTC", help_text="of times on pages")
    rows = models.PositiveSmallIntegerField(
        default=0, help_text="of a page of a list; 0: as each list usually has"
    )
    hides_first_steps = models.BooleanField(default=False, help_text="on the overview")
    hidden_columns = models.JSONField(default=dict, help_text="keys of columns, by list")
    filters = models.JSONField(default=dict, help_text="the last query of each list, by list")
    news_read_until = models.DateTimeField(
        null=True, help_text="news that were found until then are read; empty: none are"
    )
    news_feed_number = models.PositiveIntegerField(
        default=1, db_default=1, help_text="a part of the feed's secret address; another ends it"
    )

    def __str__(self) -> str:
        return f"of {self.user}"
