"""Teams: groups of users whose crawls share what a pool sets aside for them."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models

#: one line, as it stands in addresses, orders and pools
NAME = RegexValidator(r"^[^\x00-\x1f\x7f]+$", "The name of a team is one line of text.")


class Team(models.Model):
    """Users who work together. Its name never changes: crawls and shares of pools go by it."""

    name = models.CharField(max_length=80, unique=True, validators=[NAME])
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="teams", blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
