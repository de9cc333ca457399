"""Crawls: their orders, revisions, templates, schedules and exceptions, and views of their list."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models

#: PostgreSQL cannot know that joining texts is the same for ever, which an index needs to be told
SEARCHED = """
CREATE FUNCTION crawling_searched(name text, seeds text[])
    RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT upper(name || E'\\n' || array_to_string(seeds, E'\\n')) $$
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
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
                ("seeds", ArrayField(base_field=models.TextField(), size=None)),
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
                        db_default=0, default=0, help_text="of its starts at the bank, -10 to 10"
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
                    ArrayField(
                        base_field=models.CharField(max_length=30),
                        blank=True,
                        default=list,
                        help_text="words to find it by, in order of the alphabet",
                        size=None,
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
                        help_text="since then it is being deleted, a slice of its runs' rows at a time",
                        null=True,
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="crawls",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "crawl",
                "ordering": ["-pk"],
                "base_manager_name": "all_objects",
                "indexes": [
                    GinIndex(
                        OpClass(
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
                    GinIndex(fields=["tags"], name="crawls_by_tag"),
                    models.Index(
                        condition=models.Q(("retention", {}), _negated=True),
                        fields=["id"],
                        name="crawls_with_retention",
                    ),
                    models.Index(
                        condition=models.Q(("removal_asked_at__isnull", False)),
                        fields=["removal_asked_at"],
                        name="crawls_to_be_removed",
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
                ("objects", models.Manager()),
                ("all_objects", models.Manager()),
            ],
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
                    "number",
                    models.PositiveIntegerField(help_text="the first edit makes revision 2"),
                ),
                ("changes", models.JSONField(help_text="from and to, by field")),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "by",
                    models.ForeignKey(
                        help_text="empty: the command line",
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="revisions", to="crawling.crawljob"
                    ),
                ),
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
                    ArrayField(base_field=models.CharField(max_length=30), default=list, size=None),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
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
                    "host",
                    models.CharField(help_text="as `Address.host_key` spells it", max_length=260),
                ),
                ("reason", models.CharField(max_length=300)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                (
                    "by",
                    models.ForeignKey(
                        help_text="empty: the command line",
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=models.CASCADE,
                        related_name="robots_exceptions",
                        to="crawling.crawljob",
                    ),
                ),
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
            name="Schedule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                    models.DateTimeField(
                        help_text="when it falls due; empty: it is switched off", null=True
                    ),
                ),
                (
                    "crawl",
                    models.OneToOneField(
                        on_delete=models.CASCADE, related_name="schedule", to="crawling.crawljob"
                    ),
                ),
                (
                    "set_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
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
            name="SavedView",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=40)),
                (
                    "query",
                    models.CharField(
                        help_text="as it stands in the list's address", max_length=1000
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
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
    ]
