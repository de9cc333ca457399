"""How somebody likes to see the list of crawls. Written by `crawling.crawls.saved_views` only."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class SavedView(models.Model):
    """A filter, search and order of the list under a name, for the user who saved it."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views", db_index=False
    )
    name = models.CharField(max_length=40)
    query = models.CharField(max_length=1000, help_text="as it stands in the list's address")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="views_of_a_user_differ_by_name")
        ]

    def __str__(self) -> str:
        return self.name
