import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0043_seed_sources"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ArchiveImport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("files", models.JSONField(help_text="their names")),
                ("name", models.CharField(help_text="of the crawl", max_length=100)),
                (
                    "namespace",
                    models.UUIDField(
                        help_text="of the first archive file, by which a run is recognised that is "
                        "there already"
                    ),
                ),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "attempts",
                    models.PositiveSmallIntegerField(
                        db_default=0, help_text="how many jobs have begun it"
                    ),
                ),
                ("bytes", models.BigIntegerField(db_default=0, help_text="of all its files")),
                (
                    "read_bytes",
                    models.BigIntegerField(db_default=0, help_text="of them, by the latest job"),
                ),
                (
                    "answers",
                    models.BigIntegerField(db_default=0, help_text="found in what was read"),
                ),
                ("pages", models.BigIntegerField(db_default=0)),
                (
                    "left_out",
                    models.JSONField(
                        default=dict, help_text="how many records are not in the run, by the reason"
                    ),
                ),
                (
                    "trouble",
                    models.TextField(blank=True, db_default="", help_text="why there is no run"),
                ),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at", None)),
                        fields=["asked_at"],
                        name="imports_not_ended",
                    )
                ],
            },
        ),
    ]
