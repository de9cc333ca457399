import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("allocation", "0010_searches_of_experiments"),
    ]

    operations = [
        migrations.CreateModel(
            name="WaitCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.BigIntegerField()),
                ("at", models.DateTimeField(help_text="when the event was")),
                ("waiting", models.IntegerField()),
                (
                    "pool",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="wait_counts",
                        to="allocation.pool",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["pool", "at", "version"], name="wait_count_by_time")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pool", "version"), name="one_wait_count_per_version"
                    )
                ],
            },
        ),
    ]
