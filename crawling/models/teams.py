"""Teams: groups of users whose crawls share units that a pool reserves for them."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

#: one line, since names occur in addresses, orders and pools
NAME = RegexValidator(r"^[^\x00-\x1f\x7f]+$", "The name of a team is one line of text.")


class Team(models.Model):
    """Users who work together. The name never changes, since crawls and shares of pools refer to
    it.
    """

    name = models.CharField(max_length=80, unique=True, validators=[NAME])
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="teams", blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TeamRule(models.Model):
    """The single row that says on which crawls operators may act. Without it they may act only on
    their own crawls and those of their teams. Installations that are older than the rule have a
    row.

    Written by `crawling.runs.crawls.teams`.
    """

    own_crawls_only = models.BooleanField(
        help_text="whether operators act on crawls of their own and of their teams only"
    )

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="there_is_one_team_rule")]

    def __str__(self) -> str:
        return "the rule of teams"
