"""Crawls with their orders, revisions, templates, schedules and exceptions; runs, their processes and shifts."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.manager
import django.utils.timezone
from django.conf import settings
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models

#: PostgreSQL cannot know that joining texts is the same for ever, which an index needs to be told
SEARCHED = """
CREATE FUNCTION crawling_searched(name text, seeds text[])
    RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT upper(name || E'\\n' || array_to_string(seeds, E'\\n')) $$
"""


class Migration(migrations.Migration):
    dependencies = [
        ("allocation", "0003_server_functions"),
        ("auth", "__first__"),
        ("crawling", "0001_teams_and_access"),
    ]

    operations = [
        TrigramExtension(),
        migrations.RunSQL(SEARCHED, "DROP FUNCTION crawling_searched"),
        migrations.CreateModel(
            name="CrawlJob",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "seeds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("scope", models.CharField(default="host", max_length=20)),
                ("visit_order", models.CharField(default="breadth_first", max_length=20)),
                ("max_pages", models.PositiveIntegerField(null=True)),
                ("max_depth", models.PositiveIntegerField(null=True)),
                ("max_bytes", models.BigIntegerField(null=True)),
                ("max_seconds", models.PositiveIntegerField(null=True)),
                ("delay_seconds", models.FloatField()),
                ("processes", models.PositiveSmallIntegerField(default=1)),
                ("batch_size", models.PositiveSmallIntegerField()),
                (
                    "archive",
                    models.BooleanField(
                        default=True, help_text="whether every answer is kept as it came"
                    ),
                ),
                ("obey_nofollow", models.BooleanField(default=False)),
                ("requisites", models.BooleanField(default=False)),
                (
                    "extract",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="what is taken out of every HTML page: name to CSS selector",
                    ),
                ),
                (
                    "fetching",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="the fields of `crawling.orders.sections.fetching`, secrets masked; `sealed` has them",
                    ),
                ),
                (
                    "ordering",
                    models.JSONField(
                        blank=True, default=dict, help_text="weights and whether paths are ascended"
                    ),
                ),
                (
                    "filters",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="the fields of `crawling.orders.sections.filters`",
                    ),
                ),
                (
                    "budget",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="the fields of `crawling.orders.sections.budget`",
                    ),
                ),
                (
                    "revision",
                    models.PositiveIntegerField(
                        db_default=1, default=1, help_text="of the order; each edit makes the next"
                    ),
                ),
                (
                    "politeness",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="what hosts and the line are spared beyond the delay",
                    ),
                ),
                (
                    "reuse",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="when another crawl's fetch will do: `crawling.orders.sections.reuse`",
                    ),
                ),
                (
                    "thresholds",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="the fields of `crawling.orders.sections.thresholds`",
                    ),
                ),
                ("claim", models.JSONField(help_text="Max: units by resource class")),
                (
                    "priority",
                    models.SmallIntegerField(
                        db_default=0,
                        default=0,
                        help_text="of its starts in the line for resources, -10 to 10",
                    ),
                ),
                (
                    "idle_only",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="whether it uses only units that no other process waits for",
                    ),
                ),
                (
                    "retention",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="which runs are kept: `crawling.orders.retention`",
                    ),
                ),
                (
                    "spent_numbers",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        help_text="runs up to this number were deleted; none is given again",
                    ),
                ),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30),
                        blank=True,
                        default=list,
                        help_text="words to find it by, in order of the alphabet",
                        size=None,
                    ),
                ),
                (
                    "pool",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="the pool that it runs in, by name; empty: the default pool",
                        max_length=100,
                    ),
                ),
                (
                    "team",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="the team that it belongs to, by name; empty: none",
                        max_length=80,
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="crawls",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "idempotency_key",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="a program's name for its request, so that it may send it again",
                        max_length=200,
                    ),
                ),
                (
                    "idempotency_digest",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="SHA-256 of what that request asked for",
                        max_length=64,
                    ),
                ),
                (
                    "removal_asked_at",
                    models.DateTimeField(
                        help_text="since then it is deleted; its runs' rows are removed a slice at a time",
                        null=True,
                    ),
                ),
                (
                    "restorable_until",
                    models.DateTimeField(
                        help_text="until then a deleted one can be restored; empty: its rows go at once",
                        null=True,
                    ),
                ),
            ],
            options={
                "verbose_name": "crawl",
                "ordering": ["-pk"],
                "base_manager_name": "all_objects",
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        django.contrib.postgres.indexes.OpClass(
                            models.Func(
                                models.F("name"),
                                models.F("seeds"),
                                function="crawling_searched",
                                output_field=models.TextField(),
                            ),
                            name="gin_trgm_ops",
                        ),
                        name="crawls_by_words",
                    ),
                    django.contrib.postgres.indexes.GinIndex(fields=["tags"], name="crawls_by_tag"),
                    models.Index(
                        condition=models.Q(("team", ""), _negated=True),
                        fields=["team"],
                        name="crawls_by_team",
                    ),
                    models.Index(
                        condition=models.Q(("retention", {}), _negated=True),
                        fields=["id"],
                        name="crawls_with_retention",
                    ),
                    models.Index(
                        condition=models.Q(("idle_only", True)),
                        fields=["id"],
                        name="crawls_on_idle_capacity",
                    ),
                    models.Index(
                        condition=models.Q(("reuse__reuse_seconds__gt", 0)),
                        fields=["id"],
                        name="crawls_that_reuse_pages",
                    ),
                    models.Index(
                        condition=models.Q(("reuse__visits_a_day__gt", 0)),
                        fields=["id"],
                        name="crawls_with_revisit_plans",
                    ),
                    models.Index(
                        condition=models.Q(("removal_asked_at__isnull", False)),
                        fields=["removal_asked_at"],
                        name="crawls_to_be_removed",
                    ),
                    models.Index(
                        condition=models.Q(("removal_asked_at__isnull", True)),
                        fields=["id"],
                        name="crawls_shown",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("removal_asked_at", None)),
                        fields=("name",),
                        name="crawls_differ_by_name",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("idempotency_key", ""), _negated=True),
                        fields=("created_by", "idempotency_key"),
                        name="a_request_makes_one_crawl",
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("all_objects", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="crawling.crawljob",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "is_latest",
                    models.BooleanField(
                        default=True, help_text="of its crawl: the one that lists show"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("pausing", "Pausing"),
                            ("paused", "Paused"),
                            ("stopping", "Stopping"),
                            ("finished", "Finished"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "reason",
                    models.TextField(blank=True, help_text="one sentence: why it is in this state"),
                ),
                (
                    "trouble",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="why the product paused or stopped it by itself; empty: an operator did",
                    ),
                ),
                (
                    "keep_seconds",
                    models.FloatField(
                        help_text="how long what it holds is to stay reserved when it pauses; empty: not at all",
                        null=True,
                    ),
                ),
                (
                    "judged_by",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="the rules that its waiting URLs were last held against: `rules_key`",
                        max_length=60,
                    ),
                ),
                (
                    "judged_to",
                    models.JSONField(
                        help_text="how far they have been held against newer ones", null=True
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                (
                    "aborted_at",
                    models.DateTimeField(
                        help_text="since then its fetches are cut off; empty: they are let end",
                        null=True,
                    ),
                ),
                (
                    "resumed_at",
                    models.DateTimeField(
                        help_text="when it last went on; what failed before is no reason to rest again",
                        null=True,
                    ),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "removal_asked_at",
                    models.DateTimeField(
                        help_text="since then it is deleted; its rows are removed a slice at a time",
                        null=True,
                    ),
                ),
                (
                    "restorable_until",
                    models.DateTimeField(
                        help_text="until then a deleted one can be restored; empty: its rows go at once",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "base_manager_name": "all_objects",
                "indexes": [
                    models.Index(
                        condition=models.Q(("removal_asked_at", None)),
                        fields=["state"],
                        name="runs_by_state",
                    ),
                    models.Index(
                        condition=models.Q(("is_latest", True)),
                        fields=["state", "crawl"],
                        name="latest_runs_by_state",
                    ),
                    models.Index(
                        condition=models.Q(("is_latest", True)),
                        fields=["finished_at"],
                        name="latest_runs_by_end",
                    ),
                    models.Index(
                        condition=models.Q(("is_latest", True)),
                        fields=["started_at"],
                        name="latest_runs_by_start",
                    ),
                    models.Index(
                        condition=models.Q(("removal_asked_at__isnull", False)),
                        fields=["removal_asked_at"],
                        name="runs_to_be_removed",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ("pausing", "stopping"))),
                        fields=["id"],
                        name="runs_winding_down",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("started_at__isnull", False), ("state__in", ("queued", "running"))
                        ),
                        fields=["id"],
                        name="runs_begun",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("crawl", "number"), name="runs_of_a_crawl_are_numbered"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("state__in", ("finished", "stopped", "failed")), _negated=True
                        ),
                        fields=("crawl",),
                        name="a_crawl_has_one_live_run",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_latest", True)),
                        fields=("crawl",),
                        name="a_crawl_has_one_latest_run",
                    ),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("all_objects", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="RunProcess",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="processes",
                        to="crawling.run",
                    ),
                ),
                (
                    "number",
                    models.PositiveSmallIntegerField(
                        help_text="from 0; hosts are placed on numbers"
                    ),
                ),
                (
                    "serving",
                    models.BooleanField(
                        db_default=True,
                        help_text="whether hosts are placed on it; not while it finds no worker",
                    ),
                ),
                (
                    "is_extra",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="whether it was added for an idle worker, and leaves when its shift ends",
                    ),
                ),
                (
                    "is_retired",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="whether it has left the run; it may come back",
                    ),
                ),
                (
                    "bank_process",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="run_process",
                        to="allocation.process",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("bank_process", None)),
                        fields=["run"],
                        name="processes_not_enrolled",
                    ),
                    models.Index(
                        condition=models.Q(("is_extra", True), ("is_retired", False)),
                        fields=["run"],
                        name="extra_processes",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "number"), name="processes_of_a_run_are_numbered"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Shift",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "process",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shifts",
                        to="crawling.runprocess",
                    ),
                ),
                (
                    "epoch",
                    models.BigIntegerField(help_text="of the pool's process; one shift an epoch"),
                ),
                ("worker", models.CharField(max_length=200)),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ending", models.CharField(blank=True, help_text="why it ended", max_length=200)),
                (
                    "fetch_threads",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="what each fetch thread does: its number, step, URL, and since when",
                    ),
                ),
                (
                    "used",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="what it uses of each resource class, as it was last measured",
                    ),
                ),
                (
                    "deciding_seconds",
                    models.FloatField(
                        db_default=0.0,
                        default=0.0,
                        help_text="from asking the pool to its answer, all requests of the shift added up",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("process", "epoch"), name="one_shift_an_epoch"),
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)),
                        fields=("process",),
                        name="one_live_shift_a_process",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="OrderRevision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="revisions",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "number",
                    models.PositiveIntegerField(help_text="the first edit makes revision 2"),
                ),
                ("changes", models.JSONField(help_text="from and to, by field")),
                (
                    "by",
                    models.ForeignKey(
                        help_text="empty: the command line",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("crawl", "number"), name="revisions_of_a_crawl_are_numbered"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RobotsException",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="robots_exceptions",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "host",
                    models.CharField(help_text="as `Address.host_key` spells it", max_length=260),
                ),
                ("reason", models.CharField(max_length=300)),
                (
                    "by",
                    models.ForeignKey(
                        help_text="empty: the command line",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("created_at"))),
                        name="an_exception_lasts_a_while",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BlocklistEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("host", "host"),
                            ("domain", "domain"),
                            ("prefix", "prefix"),
                            ("regex", "regex"),
                        ],
                        max_length=10,
                    ),
                ),
                ("text", models.CharField(max_length=500)),
                ("reason", models.CharField(max_length=300)),
                (
                    "by",
                    models.ForeignKey(
                        help_text="empty: the command line",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("removed_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at", None)),
                        fields=("kind", "text"),
                        name="the_blocklist_holds_an_entry_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="OrderTemplate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("order", models.JSONField(help_text="fields of `crawling.orders.order`")),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30), default=list, size=None
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(max_length=40)),
                ("query", models.CharField(help_text="query string of the list", max_length=1000)),
                (
                    "is_shared",
                    models.BooleanField(default=False, help_text="whether all users see it"),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "name"), name="views_of_a_user_differ_by_name"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Schedule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "crawl",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="schedule",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "timing",
                    models.JSONField(
                        help_text="as crawling.orders.schedules.ScheduleTiming has it"
                    ),
                ),
                ("anchor_at", models.DateTimeField(help_text="intervals are counted from here")),
                (
                    "next_at",
                    models.DateTimeField(help_text="when it is due; empty: disabled", null=True),
                ),
                (
                    "pace_minutes",
                    models.PositiveIntegerField(
                        help_text="the interval now, of one that follows the changes of pages",
                        null=True,
                    ),
                ),
                (
                    "judged_run",
                    models.BigIntegerField(
                        help_text="the latest run by whose changes the interval was set", null=True
                    ),
                ),
                (
                    "set_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_at__isnull", False)),
                        fields=["next_at"],
                        name="schedules_by_time",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ScheduledStart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="starts",
                        to="crawling.schedule",
                    ),
                ),
                ("due_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        help_text="empty: none was started",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="crawling.run",
                    ),
                ),
                ("outcome", models.CharField(help_text="a sentence", max_length=300)),
            ],
            options={
                "ordering": ["-due_at"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("schedule", "due_at"), name="a_time_is_settled_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ShareLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="share_links",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "digest",
                    models.CharField(
                        help_text="SHA-256 of the token, in hex", max_length=64, unique=True
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(help_text="from then on it opens nothing")),
                ("last_opened_at", models.DateTimeField(help_text="to the minute", null=True)),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="DeletedItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("crawl", "Crawl"),
                            ("run", "Run"),
                            ("template", "Template"),
                            ("view", "View"),
                            ("schedule", "Schedule"),
                            ("blocklist", "Blocklist"),
                        ],
                        max_length=10,
                    ),
                ),
                ("name", models.CharField(help_text="as lists showed it", max_length=600)),
                (
                    "content",
                    models.JSONField(help_text="what the service that makes such a thing is given"),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        help_text="the only user who may see it; empty: all users",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "deleted_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("deleted_at", models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
            options={
                "verbose_name": "deleted item",
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="SeedSource",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="seed_sources",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("folder", "folder"), ("feed", "feed")], max_length=10
                    ),
                ),
                ("url", models.TextField(blank=True, default="", help_text="of a feed")),
                ("minutes", models.PositiveIntegerField(help_text="from one reading to the next")),
                (
                    "resume",
                    models.BooleanField(
                        help_text="the latest run is resumed for new seeds if it has finished"
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("next_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("read_at", models.DateTimeField(null=True)),
                (
                    "unended",
                    models.PositiveSmallIntegerField(
                        db_default=0,
                        help_text="readings that began since the latest one that ended",
                    ),
                ),
                (
                    "etag",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="of a feed as it was read; the next reading asks whether it has changed",
                    ),
                ),
                (
                    "last_modified",
                    models.DateTimeField(help_text="the same, as the server states it", null=True),
                ),
                (
                    "added",
                    models.PositiveBigIntegerField(default=0, help_text="seeds, by all readings"),
                ),
                (
                    "note",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="what was wrong with the latest reading, a sentence",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("crawl", "kind", "url"), name="seed_source_once"
                    )
                ],
            },
        ),
    ]
