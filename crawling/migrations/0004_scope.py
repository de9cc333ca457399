"""URLs that were left out, by which rule, patterns of traps, and the black list."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0003_frontier"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Verdict",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("fingerprint", models.BigIntegerField()),
                ("url", models.TextField()),
                (
                    "rule",
                    models.CharField(
                        help_text="of `crawling.orders.scope.filters.Rule`", max_length=20
                    ),
                ),
                ("sentence", models.TextField(help_text="what the rule said")),
                (
                    "revision",
                    models.CharField(
                        help_text="the rules that it was held against: `rules_key`", max_length=60
                    ),
                ),
                ("depth", models.SmallIntegerField()),
                ("hops", models.SmallIntegerField(help_text="of the page that led there")),
                (
                    "via",
                    models.BigIntegerField(
                        help_text="id of the URL on whose page it was met first", null=True
                    ),
                ),
                (
                    "links",
                    models.IntegerField(
                        help_text="pages it was met on, as far as shifts have told"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="verdicts",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "fingerprint"), name="one_verdict_a_url_and_run"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="VerdictCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("rule", models.CharField(max_length=20)),
                ("kept", models.IntegerField(db_default=0, help_text="rows")),
                (
                    "more",
                    models.BigIntegerField(
                        db_default=0,
                        help_text="addresses without a row; one met by two shifts counts twice",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="verdict_counts",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "rule"), name="verdicts_are_counted_by_rule"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TrapPattern",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.BigIntegerField(
                        help_text="`crawling.orders.scope.trap_patterns.Pattern.key`"
                    ),
                ),
                ("pattern", models.TextField()),
                (
                    "rule",
                    models.CharField(
                        blank=True,
                        help_text="of `crawling.orders.scope.trap_patterns.REASONS`: why it is suspicious",
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("watched", "watched"),
                            ("quarantined", "quarantined"),
                            ("approved", "approved"),
                            ("banned", "banned"),
                        ],
                        default="watched",
                        max_length=11,
                    ),
                ),
                ("fetched", models.IntegerField(db_default=0)),
                ("fresh", models.IntegerField(db_default=0)),
                ("found_at", models.DateTimeField(auto_now_add=True)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="patterns",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "key"), name="a_pattern_is_watched_once_a_run"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BlackListEntry",
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
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("removed_at", models.DateTimeField(null=True)),
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
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at", None)),
                        fields=("kind", "text"),
                        name="the_black_list_holds_an_entry_once",
                    )
                ],
            },
        ),
    ]
