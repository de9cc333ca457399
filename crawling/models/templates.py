"""Orders that are kept to make crawls from. Written by `crawling.crawls.templates` only."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models


class OrderTemplate(models.Model):
    """An order under a name, without a crawl's name and without secrets."""

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
