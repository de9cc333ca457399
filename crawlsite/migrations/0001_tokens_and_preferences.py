"""Tokens of the API, and preferences and passwords of users."""

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
            name="ApiToken",
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(help_text="what uses it", max_length=100)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                (
                    "expires_at",
                    models.DateTimeField(
                        help_text="from then on it opens nothing; empty: it stays until it is revoked",
                        null=True,
                    ),
                ),
                (
                    "reads_only",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="whether it opens only what changes nothing",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "name"), name="a_users_tokens_have_different_names"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GivenPassword",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="given_password",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("given_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Preference",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="preference",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "refresh_seconds",
                    models.PositiveSmallIntegerField(
                        default=2, help_text="seconds between two refreshes of a live page; 0: none"
                    ),
                ),
                (
                    "theme",
                    models.CharField(
                        default="auto",
                        help_text="light, dark, or auto: as set in the browser",
                        max_length=10,
                    ),
                ),
                (
                    "density",
                    models.CharField(default="comfortable", help_text="of tables", max_length=12),
                ),
                (
                    "time_zone",
                    models.CharField(default="UTC", help_text="of times on pages", max_length=64),
                ),
                (
                    "rows",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="of a page of a list; 0: as each list usually has"
                    ),
                ),
                (
                    "hides_first_steps",
                    models.BooleanField(default=False, help_text="on the overview"),
                ),
                (
                    "hidden_columns",
                    models.JSONField(default=dict, help_text="keys of columns, by list"),
                ),
                (
                    "filters",
                    models.JSONField(
                        default=dict, help_text="the last query of each list, by list"
                    ),
                ),
            ],
        ),
    ]
