"""Patterns of URLs that are watched as possible traps.

Written by `crawling.frontier.admit.quarantine` only.
"""

from __future__ import annotations

from django.db import models

from crawling.models.jobs import Run
from crawling.scope.trap_gate import TrapState


class TrapPattern(models.Model):
    """URLs of one host that differ by numbers, ids and values only, and what their pages were
    worth.

    fetched, fresh: pages of it, and those of them whose content was new; together its yield.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="patterns", db_index=False)
    key = models.BigIntegerField(help_text="`crawling.scope.trap_patterns.Pattern.key`")
    pattern = models.TextField()
    rule = models.CharField(
        max_length=10,
        blank=True,
        help_text="of `crawling.scope.trap_patterns.REASONS`: why it is suspicious",
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

    def __str__(self) -> str:
        return self.pattern
