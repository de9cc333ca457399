"""Experiments, and what became of each of their requests."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Experiment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "cancelled_at",
                    models.DateTimeField(help_text="when a user cancelled it", null=True),
                ),
                (
                    "cancelled_by",
                    models.ForeignKey(
                        help_text="empty: the command line, if it was cancelled",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("threads", "threads of the experiment"),
                            ("shifts", "shifts of crawls"),
                        ],
                        db_default="threads",
                        default="threads",
                        max_length=20,
                    ),
                ),
                (
                    "requests",
                    models.PositiveIntegerField(help_text="of each policy; of shifts: crawls"),
                ),
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
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("naive", "plain requests"),
                                ("banker", "Banker's algorithm"),
                                ("all_at_once", "all at once"),
                                ("full_scope", "Banker's, full scope"),
                                ("recursive", "Banker's, recursion over all"),
                                ("uncovered", "Banker's, recursion over uncovered"),
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
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                (
                    "seen_at",
                    models.DateTimeField(help_text="last heartbeat of its process", null=True),
                ),
                ("finished_at", models.DateTimeField(null=True)),
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
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ExperimentRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "experiment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tries",
                        to="experiments.experiment",
                    ),
                ),
                (
                    "policy",
                    models.CharField(
                        choices=[
                            ("naive", "plain requests"),
                            ("banker", "Banker's algorithm"),
                            ("all_at_once", "all at once"),
                            ("full_scope", "Banker's, full scope"),
                            ("recursive", "Banker's, recursion over all"),
                            ("uncovered", "Banker's, recursion over uncovered"),
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
                    "deciding_seconds",
                    models.FloatField(
                        default=0.0,
                        help_text="from asking the pool to its answer, all its steps added up",
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
                        help_text="when the bound passed, no process that could finish held what it needed"
                    ),
                ),
                (
                    "unsafe_grants",
                    models.PositiveIntegerField(
                        help_text="grants to it that left the pool unsafe; empty: not counted",
                        null=True,
                    ),
                ),
                (
                    "pages",
                    models.PositiveIntegerField(help_text="pages it fetched while it held units"),
                ),
                (
                    "round",
                    models.PositiveSmallIntegerField(
                        db_default=1, default=1, help_text="the turn of its policy, from 1 on"
                    ),
                ),
                (
                    "detail",
                    models.TextField(
                        blank=True, help_text="what went wrong, where it is no matter of waiting"
                    ),
                ),
            ],
            options={
                "ordering": ["policy", "attempt", "number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("experiment", "policy", "number", "attempt"), name="one_row_per_try"
                    )
                ],
            },
        ),
    ]
