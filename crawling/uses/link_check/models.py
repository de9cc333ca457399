"""The number of broken links of a run, compared with the run before it. Written by
`crawling.uses.link_check.trend` only.
"""

from __future__ import annotations

from django.db import models

from crawling.models.jobs import Run


class BrokenLinks(models.Model):
    """The number of addresses that failed in a run that has ended. The row contains no address, so
    a withdrawal need not change it.
    """

    run = models.OneToOneField(Run, models.CASCADE, related_name="broken_links")
    against = models.ForeignKey(
        Run, models.SET_NULL, null=True, related_name="+", help_text="the run before it"
    )
    broken = models.PositiveIntegerField()
    new = models.PositiveIntegerField(default=0, help_text="of them, those that did not fail then")
    fixed = models.PositiveIntegerField(default=0, help_text="failed then, and not in this run")
    not_tried = models.PositiveIntegerField(
        db_default=0, default=0, help_text="failed then, and not tried in this run"
    )
    not_tried_before = models.PositiveIntegerField(
        db_default=0,
        default=0,
        help_text="of the broken, those that the run before had not tried",
    )
    found_at = models.DateTimeField()

    class Meta:
        ordering = ["-run_id"]
        verbose_name_plural = "broken links"
        indexes = [
            models.Index(
                fields=["found_at"],
                condition=models.Q(new__gt=0) | models.Q(fixed__gt=0),
                name="news_of_links_by_time",
            )
        ]

    def __str__(self) -> str:
        return f"{self.broken} of run {self.run_id}"

    @property
    def still(self) -> int:
        return self.broken - self.new - self.not_tried_before
