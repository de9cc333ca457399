"""Watches, and what they found."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import crawling.orders.scope.url_rules


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "__first__"),
        ("crawling", "0005_jobs_and_plans"),
    ]

    operations = [
        migrations.CreateModel(
            name="Watch",
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
                        related_name="watches",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            (crawling.orders.scope.url_rules.UrlRuleKind["PAGE"], "page"),
                            (crawling.orders.scope.url_rules.UrlRuleKind["PATTERN"], "pattern"),
                            (crawling.orders.scope.url_rules.UrlRuleKind["HOST"], "host"),
                        ],
                        max_length=10,
                    ),
                ),
                ("text", models.TextField(help_text="URL, regular expression of RE2, or host")),
                (
                    "selector",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="CSS selector of what is compared; empty: the whole text",
                    ),
                ),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("changed", "page changed"),
                                ("gone", "page gone"),
                                ("new", "new page"),
                            ],
                            max_length=10,
                        ),
                        size=None,
                    ),
                ),
                (
                    "ignore",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        default=list,
                        help_text="RE2 expressions; what they match is no change",
                        size=None,
                    ),
                ),
                ("ignore_numbers", models.BooleanField(default=False)),
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
                (
                    "compared_until",
                    models.DateTimeField(
                        default=django.utils.timezone.now,
                        help_text="runs that ended until then are compared",
                    ),
                ),
                (
                    "feed_number",
                    models.PositiveIntegerField(
                        default=1,
                        help_text="a part of its feed's secret address; another ends the old one",
                    ),
                ),
                (
                    "note",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="what the latest comparison does not cover, a sentence",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "watches",
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="WatchEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "watch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="found",
                        to="watches.watch",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="watch_events",
                        to="crawling.run",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("changed", "page changed"),
                            ("gone", "page gone"),
                            ("new", "new page"),
                        ],
                        max_length=10,
                    ),
                ),
                ("url", models.TextField()),
                ("fingerprint", models.BigIntegerField(help_text="of the URL")),
                ("page", models.BigIntegerField(help_text="id of its URL in the run", null=True)),
                (
                    "earlier",
                    models.BigIntegerField(help_text="id of its URL in the earlier run", null=True),
                ),
                (
                    "diff",
                    models.JSONField(
                        default=list, help_text="pairs of a kind of line and its text"
                    ),
                ),
                (
                    "note",
                    models.TextField(
                        blank=True, default="", help_text="a sentence, where there is no diff"
                    ),
                ),
                ("found_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("watch", "run", "fingerprint"),
                        name="one_event_a_watch_run_and_page",
                    )
                ],
            },
        ),
    ]
