"""Pages that several crawls wanted. Written by `crawling.frontier.change.hotspot_counts` only."""

from __future__ import annotations

from django.db import models


class HotPage(models.Model):
    """A page that a crawl wanted while another one's fetch was fresh.

    `heat`: as `crawling.frontier.rules.hotspots` has it.
    """

    fingerprint = models.BigIntegerField(unique=True)
    url = models.TextField()
    heat = models.FloatField(db_index=True)
    wanted = models.BigIntegerField(
        help_text="times a crawl wanted it that could have had another's"
    )
    reused = models.BigIntegerField(
        help_text="times it was taken; at the others the server had forbidden it, or the copy "
        "was gone"
    )
    wanted_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.url
