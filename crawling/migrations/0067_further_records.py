import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0066_team_rule"),
    ]

    operations = [
        migrations.AddField(
            model_name="archiveimport",
            name="cancelled_at",
            field=models.DateTimeField(help_text="when a user asked for its end", null=True),
        ),
        migrations.AddField(
            model_name="archiveimport",
            name="remarks",
            field=models.JSONField(
                default=dict,
                help_text="how many are there though something about them is amiss, by what that is",
            ),
        ),
        migrations.CreateModel(
            name="FurtherRecord",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("fetched_at", models.DateTimeField()),
                ("status", models.SmallIntegerField()),
                ("content_type", models.TextField(blank=True)),
                ("bytes", models.BigIntegerField()),
                (
                    "method",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="empty: GET, or not known",
                        max_length=20,
                    ),
                ),
                (
                    "body",
                    models.TextField(
                        blank=True,
                        db_default="",
                        help_text="of the request, as indexes for replay have it",
                    ),
                ),
                ("archive_offset", models.BigIntegerField()),
                ("archive_length", models.BigIntegerField()),
                ("payload_sha256", models.BinaryField(max_length=32, null=True)),
                (
                    "is_revisit",
                    models.BooleanField(
                        db_default=False, help_text="the payload is in another record"
                    ),
                ),
                (
                    "archive_file",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="further_records",
                        to="crawling.archivefile",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="further_records",
                        to="crawling.run",
                    ),
                ),
                (
                    "url",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="further_records",
                        to="crawling.url",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["run", "payload_sha256"], name="further_records_by_payload"
                    ),
                    models.Index(
                        fields=["archive_file", "archive_offset"], name="further_records_of_a_file"
                    ),
                ],
            },
        ),
    ]
