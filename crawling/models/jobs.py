"""A crawl and its runs.

Written by `crawling.runs.crawls` and `crawling.runs` only.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F, Func, Q

from crawling.orders.ranking import Order
from crawling.orders.stored_order import StoredOrder

#: the text in which crawls are searched: name and seeds, in upper case; the first migration creates
#: the function
SEARCHED = Func(
    F("name"), F("seeds"), function="crawling_searched", output_field=models.TextField()
)

#: the constraint that a name in use violates
NAMES_DIFFER = "crawls_differ_by_name"


class NotDeletedManager(models.Manager[Any]):
    """Crawls or runs that are not deleted."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().filter(removal_asked_at=None)


class CrawlJob(models.Model):
    """An operator's order. `crawling.orders.order` explains and checks each field."""

    name = models.CharField(max_length=100)
    seeds = ArrayField(models.TextField())
    scope = models.CharField(max_length=20, default="host")
    purpose = models.CharField(
        max_length=10,
        blank=True,
        default="",
        db_default="",
        help_text="what it is for: `crawling.orders.purposes`",
    )
    visit_order = models.CharField(max_length=20, default="breadth_first")
    max_pages = models.PositiveIntegerField(null=True)
    max_depth = models.PositiveIntegerField(null=True)
    max_bytes = models.BigIntegerField(null=True)
    max_seconds = models.PositiveIntegerField(null=True)
    delay_seconds = models.FloatField()
    processes = models.PositiveSmallIntegerField(default=1)
    batch_size = models.PositiveSmallIntegerField()
    archive = models.BooleanField(default=True, help_text="whether every answer is kept as it came")
    obey_nofollow = models.BooleanField(default=False)
    requisites = models.BooleanField(default=False)
    extract = models.JSONField(
        default=dict,
        blank=True,
        help_text="what is taken out of every HTML page: name to CSS selector",
    )
    extractor = models.CharField(
        max_length=120,
        blank=True,
        default="",
        db_default="",
        help_text="the extractor whose rules are among those of `extract`, as NAME@REVISION; "
        "empty: none",
    )
    fetching = models.JSONField(
        default=dict,
        blank=True,
        help_text="the fields of `crawling.orders.sections.fetching`, secrets masked; `sealed` "
        "has them",
    )
    ordering = models.JSONField(
        default=dict, blank=True, help_text="weights and whether paths are ascended"
    )
    filters = models.JSONField(
        default=dict, blank=True, help_text="the fields of `crawling.orders.sections.filters`"
    )
    budget = models.JSONField(
        default=dict, blank=True, help_text="the fields of `crawling.orders.sections.budget`"
    )
    revision = models.PositiveIntegerField(
        db_default=1, default=1, help_text="of the order; each edit makes the next"
    )
    politeness = models.JSONField(
        default=dict, blank=True, help_text="what hosts and the line are spared beyond the delay"
    )
    rendering = models.JSONField(
        default=dict,
        blank=True,
        db_default={},
        help_text="which pages a browser renders: `crawling.orders.sections.rendering`",
    )
    reuse = models.JSONField(
        default=dict,
        blank=True,
        help_text="when another crawl's fetch will do: `crawling.orders.sections.reuse`",
    )
    thresholds = models.JSONField(
        default=dict, blank=True, help_text="the fields of `crawling.orders.sections.thresholds`"
    )
    claim = models.JSONField(help_text="Max: units by resource class")
    priority = models.SmallIntegerField(
        default=0, db_default=0, help_text="of its starts in the line for resources, -10 to 10"
    )
    idle_only = models.BooleanField(
        default=False,
        db_default=False,
        help_text="whether it uses only units that no other process waits for",
    )
    retention = models.JSONField(
        default=dict, blank=True, help_text="which runs are kept: `crawling.orders.retention`"
    )
    spent_numbers = models.PositiveIntegerField(
        db_default=0,
        default=0,
        help_text="runs up to this number were deleted; none is given again",
    )
    tags = ArrayField(
        models.CharField(max_length=30),
        default=list,
        blank=True,
        help_text="words to find it by, in order of the alphabet",
    )
    pool = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="the pool that it runs in, by name; empty: the default pool",
    )
    team = models.CharField(
        max_length=80,
        blank=True,
        default="",
        db_default="",
        help_text="the team that it belongs to, by name; empty: none",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="crawls"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    idempotency_key = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="a program's name for its request, so that it may send it again",
    )
    idempotency_digest = models.CharField(
        max_length=64, blank=True, default="", help_text="SHA-256 of what that request asked for"
    )
    removal_asked_at = models.DateTimeField(
        null=True,
        help_text="since then it is deleted; its runs' rows are removed a slice at a time",
    )
    restorable_until = models.DateTimeField(
        null=True, help_text="until then a deleted one can be restored; empty: its rows go at once"
    )

    objects: models.Manager[CrawlJob] = NotDeletedManager()
    all_objects: models.Manager[CrawlJob] = models.Manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name = "crawl"
        base_manager_name = "all_objects"
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(removal_asked_at=None), name=NAMES_DIFFER
            ),
            models.UniqueConstraint(
                fields=["created_by", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="a_request_makes_one_crawl",
            ),
        ]
        indexes = [
            GinIndex(OpClass(SEARCHED, name="gin_trgm_ops"), name="crawls_by_words"),
            GinIndex(fields=["tags"], name="crawls_by_tag"),
            models.Index(fields=["team"], condition=~Q(team=""), name="crawls_by_team"),
            models.Index(
                fields=["extractor"], condition=~Q(extractor=""), name="crawls_by_extractor"
            ),
            models.Index(fields=["id"], condition=~Q(retention={}), name="crawls_with_retention"),
            models.Index(
                fields=["id"], condition=Q(idle_only=True), name="crawls_on_idle_capacity"
            ),
            models.Index(
                fields=["id"],
                condition=Q(reuse__reuse_seconds__gt=0),
                name="crawls_that_reuse_pages",
            ),
            models.Index(
                fields=["id"],
                condition=Q(reuse__visits_a_day__gt=0),
                name="crawls_with_revisit_plans",
            ),
            models.Index(
                fields=["removal_asked_at"],
                condition=Q(removal_asked_at__isnull=False),
                name="crawls_to_be_removed",
            ),
            # used by every list, which counts them
            models.Index(
                fields=["id"], condition=Q(removal_asked_at__isnull=True), name="crawls_shown"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def order(self) -> StoredOrder:
        """The order in the JSON columns. Other code reads none of these columns by the name of a
        field.
        """
        return StoredOrder(self)

    @property
    def has_exact_order(self) -> bool:
        """Whether one URL is fetched at a time, always the first of all hosts."""
        return self.order.ordering.exact_order

    @property
    def is_focused(self) -> bool:
        """Whether URLs are visited by their similarity to a topic."""
        return self.visit_order == Order.FOCUSED

    @property
    def process_limit(self) -> int | None:
        """The number of processes of a run. None for one process, with extra ones for idle
        workers.
        """
        return 1 if self.has_exact_order else self.processes or None


class RunState(models.TextChoices):
    """The stored state. Whether a run *waits* follows from the pool, and is added when it is read
    (`selectors`).
    """

    QUEUED = "queued"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


#: states of a run that has nothing more to do
ENDED_STATES = (RunState.FINISHED, RunState.STOPPED, RunState.FAILED)
#: states of a run that an operator paused
PAUSE_STATES = (RunState.PAUSING, RunState.PAUSED)
#: states of a run that ends or rests as soon as none of its shifts is alive
WINDING_DOWN_STATES = (RunState.PAUSING, RunState.STOPPING)
#: states of a run whose processes may ask for shifts
WORKING_STATES = (RunState.QUEUED, RunState.RUNNING)


def states_in_sql(states: Collection[RunState]) -> str:
    return "('" + "', '".join(states) + "')"


#: the same lists in SQL
ENDED_IN_SQL = states_in_sql(ENDED_STATES)
LIVE_IN_SQL = states_in_sql([state for state in RunState if state not in ENDED_STATES])
WINDING_DOWN_IN_SQL = states_in_sql(WINDING_DOWN_STATES)
WORKING_IN_SQL = states_in_sql(WORKING_STATES)


class Run(models.Model):
    """One execution of a crawl.

    Its row is the lock that each write to its part of the frontier takes first.
    """

    crawl = models.ForeignKey(CrawlJob, models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()
    is_latest = models.BooleanField(default=True, help_text="of its crawl: the one that lists show")
    state = models.CharField(max_length=10, choices=RunState.choices, default=RunState.QUEUED)
    reason = models.TextField(blank=True, help_text="one sentence: why it is in this state")
    trouble = models.TextField(
        blank=True,
        default="",
        help_text="why the product paused or stopped it by itself; empty: an operator did",
    )
    keep_seconds = models.FloatField(
        null=True,
        help_text="how long what it holds is to stay reserved when it pauses; empty: not at all",
    )
    judged_by = models.CharField(
        max_length=60,
        blank=True,
        default="",
        help_text="the rules that its waiting URLs were last held against: `rules_key`",
    )
    judged_to = models.JSONField(
        null=True, help_text="how far they have been held against newer ones"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    aborted_at = models.DateTimeField(
        null=True, help_text="since then its fetches are cut off; empty: they are let end"
    )
    resumed_at = models.DateTimeField(
        null=True, help_text="when it last went on; what failed before is no reason to rest again"
    )
    finished_at = models.DateTimeField(null=True)
    removal_asked_at = models.DateTimeField(
        null=True, help_text="since then it is deleted; its rows are removed a slice at a time"
    )
    restorable_until = models.DateTimeField(
        null=True, help_text="until then a deleted one can be restored; empty: its rows go at once"
    )

    objects: models.Manager[Run] = NotDeletedManager()
    all_objects: models.Manager[Run] = models.Manager()

    class Meta:
        ordering = ["-pk"]
        base_manager_name = "all_objects"
        constraints = [
            models.UniqueConstraint(
                fields=["crawl", "number"], name="runs_of_a_crawl_are_numbered"
            ),
            models.UniqueConstraint(
                fields=["crawl"],
                condition=~Q(state__in=ENDED_STATES),
                name="a_crawl_has_one_live_run",
            ),
            models.UniqueConstraint(
                fields=["crawl"], condition=Q(is_latest=True), name="a_crawl_has_one_latest_run"
            ),
        ]
        indexes = [
            models.Index(
                fields=["state"], condition=Q(removal_asked_at=None), name="runs_by_state"
            ),
            models.Index(
                fields=["state", "crawl"], condition=Q(is_latest=True), name="latest_runs_by_state"
            ),
            models.Index(
                fields=["finished_at"], condition=Q(is_latest=True), name="latest_runs_by_end"
            ),
            models.Index(
                fields=["started_at"], condition=Q(is_latest=True), name="latest_runs_by_start"
            ),
            models.Index(
                fields=["removal_asked_at"],
                condition=Q(removal_asked_at__isnull=False),
                name="runs_to_be_removed",
            ),
            models.Index(
                fields=["id"],
                condition=Q(state__in=WINDING_DOWN_STATES),
                name="runs_winding_down",
            ),
            models.Index(
                fields=["id"],
                condition=Q(state__in=WORKING_STATES, started_at__isnull=False),
                name="runs_begun",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.crawl.name} run {self.number}"
