"""Listeners, deliveries, and notices of lasting states."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "__first__"),
        ("crawling", "0005_jobs_and_plans"),
    ]

    operations = [
        migrations.CreateModel(
            name="Listener",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("url", models.TextField()),
                (
                    "message_format",
                    models.CharField(
                        db_default="json",
                        default="json",
                        help_text="of a webhook's body: `crawling.uses.alerts`",
                        max_length=10,
                    ),
                ),
                (
                    "sealed",
                    models.TextField(help_text="its secret, by `crawling.base.encrypted_text`"),
                ),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), size=None
                    ),
                ),
                ("is_on", models.BooleanField(default=True)),
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
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "listener",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="alerts.listener",
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="crawling.crawljob",
                    ),
                ),
                ("event", models.CharField(max_length=20)),
                (
                    "body",
                    models.TextField(
                        help_text="the facts, in JSON; chats are sent a message made of them"
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "next_try_at",
                    models.DateTimeField(
                        help_text="empty: it has arrived, or was given up", null=True
                    ),
                ),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True, help_text="of the last attempt, a sentence", max_length=300
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_try_at__isnull", False)),
                        fields=["next_try_at"],
                        name="deliveries_to_try",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        help_text="what it is the state of: `wait/RUN`, `unsafe/POOL`, `missing/POOL`",
                        max_length=100,
                        unique=True,
                    ),
                ),
                ("sentence", models.TextField()),
                ("since", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["key"],
            },
        ),
    ]
