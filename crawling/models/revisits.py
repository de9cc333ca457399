"""The times at which the pages of crawls are visited again. Written by `crawling.uses.revisits`
only.
"""

from __future__ import annotations

from django.db import models

from crawling.models.jobs import CrawlJob


class RevisitPlan(models.Model):
    """The plan for a crawl after a run, and its expectations."""

    crawl = models.OneToOneField(
        CrawlJob, models.CASCADE, primary_key=True, related_name="revisit_plan"
    )
    planned_at = models.DateTimeField()
    run_number = models.PositiveIntegerField(help_text="of the latest run that had ended")
    ended_at = models.DateTimeField(
        null=True, help_text="when that run ended; empty: it is to be planned anew"
    )
    visits_a_day = models.PositiveIntegerField(help_text="the budget")
    policy = models.CharField(max_length=20)
    pages = models.PositiveBigIntegerField()
    visits = models.PositiveBigIntegerField(help_text="that compared a page with an earlier one")
    changes = models.PositiveBigIntegerField(help_text="of those, that found it changed")
    at_end = models.JSONField(
        default=dict, help_text="expected freshness, and age in days, when it was planned"
    )
    policies = models.JSONField(
        default=dict,
        help_text="expected freshness, and age in days, of each policy in the long run",
    )
    hosts = models.JSONField(
        default=list, help_text="the same sums and expectations of the hosts with the most pages"
    )

    def __str__(self) -> str:
        return f"{self.crawl_id} after run {self.run_number}"


class PlannedRevisit(models.Model):
    """The change rate of a page, as far as its visits show it, and the time of its next visit."""

    crawl = models.ForeignKey(
        CrawlJob, models.CASCADE, related_name="planned_revisits", db_index=False
    )
    fingerprint = models.BigIntegerField(help_text="of its URL, as in the latest run that has it")
    url = models.TextField()
    host = models.TextField()
    visits = models.PositiveIntegerField(help_text="that compared it with an earlier one")
    changes = models.PositiveIntegerField(help_text="of those, that found it changed")
    rate = models.FloatField(help_text="changes a day, estimated")
    low = models.FloatField(help_text="the true rate is above this with 97.5 % probability")
    high = models.FloatField(help_text="and below this")
    wait_days = models.FloatField(help_text="from one visit to the next")
    visited_at = models.DateTimeField()
    next_at = models.DateTimeField(
        help_text="that is its turn in the budget, or a hint lets it wait"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["crawl", "fingerprint"], name="one_revisit_a_page")
        ]
        indexes = [
            models.Index(fields=["crawl", "next_at", "id"], name="revisits_in_turn"),
            models.Index(fields=["crawl", "rate", "id"], name="revisits_by_rate"),
            models.Index(fields=["crawl", "host"], name="revisits_of_host"),
        ]

    def __str__(self) -> str:
        return f"{self.url} at {self.next_at}"
