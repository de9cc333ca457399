"""Collections, their members and share links."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("crawling", "0007_purpose_of_crawls"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Collection",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("description", models.TextField(blank=True, default="")),
                (
                    "team",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="the team that it belongs to, by name; empty: none",
                        max_length=80,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "changed_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now,
                        help_text="when it was last edited, or a member came or went",
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
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="CollectionLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "digest",
                    models.CharField(
                        help_text="SHA-256 of the token, in hex", max_length=64, unique=True
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(help_text="from then on it opens nothing")),
                ("last_opened_at", models.DateTimeField(help_text="to the minute", null=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="share_links",
                        to="collections.collection",
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
            ],
            options={
                "ordering": ["pk"],
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="CollectionMember",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("page", models.BigIntegerField(help_text="id of its URL in the run", null=True)),
                ("added_at", models.DateTimeField(auto_now_add=True)),
                (
                    "added_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="members",
                        to="collections.collection",
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        help_text="of a single page",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("page", None)),
                        fields=("collection", "crawl"),
                        name="a_crawl_is_in_a_collection_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("page__isnull", False)),
                        fields=("collection", "page"),
                        name="a_page_is_in_a_collection_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("page", None), ("run", None)),
                            models.Q(("page__isnull", False), ("run__isnull", False)),
                            _connector="OR",
                        ),
                        name="a_single_page_has_its_run",
                    ),
                ],
            },
        ),
    ]
