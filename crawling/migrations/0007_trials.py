"""The experiment that compares policies of allocation."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0006_installation"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Trial",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("requests", models.PositiveIntegerField()),
                (
                    "bound_seconds",
                    models.FloatField(
                        help_text="a request that has waited longer in all is locked"
                    ),
                ),
                (
                    "seed",
                    models.PositiveBigIntegerField(
                        help_text="the same seed makes the same requests"
                    ),
                ),
                (
                    "policies",
                    ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("naive", "plain requests"),
                                ("banker", "Banker's algorithm"),
                                ("all_at_once", "all at once"),
                            ],
                            max_length=20,
                        ),
                        size=None,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("finished", "Finished"),
                            ("broken_off", "broken off"),
                        ],
                        default="queued",
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                (
                    "seen_at",
                    models.DateTimeField(
                        help_text="the last sign of life of whoever runs it", null=True
                    ),
                ),
                ("finished_at", models.DateTimeField(null=True)),
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
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="TrialRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "policy",
                    models.CharField(
                        choices=[
                            ("naive", "plain requests"),
                            ("banker", "Banker's algorithm"),
                            ("all_at_once", "all at once"),
                        ],
                        max_length=20,
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("attempt", models.PositiveIntegerField(help_text="1 for the first try")),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                (
                    "waited_seconds",
                    models.FloatField(
                        help_text="from being told to wait to having, all its steps added up"
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("completed", "Completed"),
                            ("locked", "Locked"),
                            ("breach", "Breach of claim"),
                            ("crashed", "Crashed"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "deadlocked",
                    models.BooleanField(
                        help_text="when the bound was passed, nobody who could finish could have helped it"
                    ),
                ),
                (
                    "pages",
                    models.PositiveIntegerField(help_text="pages it fetched while it held units"),
                ),
                (
                    "detail",
                    models.TextField(
                        blank=True, help_text="what went wrong, where it is no matter of waiting"
                    ),
                ),
                (
                    "trial",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="tries",
                        to="crawling.trial",
                    ),
                ),
            ],
            options={
                "ordering": ["policy", "attempt", "number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("trial", "policy", "number", "attempt"), name="one_row_per_try"
                    )
                ],
            },
        ),
    ]
