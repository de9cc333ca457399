"""The URLs that were excluded from a run, with the rule for each, and patterns that are watched as
possible traps.

Written by `crawling.frontier` only.
"""

from __future__ import annotations

from django.db import models

from crawling.models.jobs import Run
from crawling.orders.scope.trap_gate import TrapState
from crawling.orders.scope.trap_patterns import ONE_TEXT


class Verdict(models.Model):
    """An address that a rule excludes from a run. `links` pages link to it, the first of them being
    that of the URL `via`.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="verdicts", db_index=False)
    fingerprint = models.BigIntegerField()
    url = models.TextField()
    rule = models.CharField(max_length=20, help_text="of `crawling.orders.scope.filters.Rule`")
    sentence = models.TextField(help_text="what the rule said")
    revision = models.CharField(
        max_length=60, help_text="the rules that it was held against: `rules_key`"
    )
    depth = models.SmallIntegerField()
    hops = models.SmallIntegerField(help_text="of the page that led there")
    via = models.BigIntegerField(
        null=True, help_text="id of the URL on whose page it was met first"
    )
    links = models.IntegerField(help_text="pages it was met on, as far as work sessions have told")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "fingerprint"], name="one_verdict_a_url_and_run")
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.url}"


class VerdictCount(models.Model):
    """The number of addresses that each rule excludes, including those beyond the most rows that a
    run may have.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="verdict_counts", db_index=False)
    rule = models.CharField(max_length=20)
    kept = models.IntegerField(db_default=0, help_text="rows")
    more = models.BigIntegerField(
        db_default=0, help_text="addresses without a row; one met by two work sessions counts twice"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "rule"], name="verdicts_are_counted_by_rule")
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.rule}"


class TrapPattern(models.Model):
    """A pattern of URLs of one host and the worth of its pages: URLs that differ only by numbers,
    ids and values, all URLs of a site, or those with a parameter of a list.

    fetched: the number of its pages. fresh: the number of those with new content. Together these
    are its yield.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="patterns", db_index=False)
    key = models.BigIntegerField(help_text="`crawling.orders.scope.trap_patterns.Pattern.key`")
    pattern = models.TextField()
    rule = models.CharField(
        max_length=10,
        blank=True,
        help_text="of `crawling.orders.scope.trap_patterns.REASONS`: why it is suspicious",
    )
    state = models.CharField(
        max_length=11,
        choices=[(state.value, state.value) for state in TrapState],
        default=TrapState.WATCHED,
    )
    fetched = models.IntegerField(db_default=0)
    fresh = models.IntegerField(db_default=0)
    found_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "key"], name="a_pattern_is_watched_once_a_run")
        ]
        indexes = [
            # a run has thousands of other patterns
            models.Index(
                fields=["run"], condition=models.Q(rule=ONE_TEXT), name="sites_of_one_text"
            )
        ]

    def __str__(self) -> str:
        return self.pattern

    @property
    def alike(self) -> int:
        """The number of pages that were not new."""
        return self.fetched - self.fresh
