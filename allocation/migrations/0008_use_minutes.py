"""What was used of pools, by minute."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("allocation", "0007_shares"),
    ]

    operations = [
        migrations.CreateModel(
            name="UseMinute",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("minute", models.DateTimeField()),
                ("samples", models.IntegerField()),
                (
                    "used",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(null=True),
                        help_text="the sum of all samples",
                        size=None,
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="use_minutes",
                        to="allocation.pool",
                    ),
                ),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.BrinIndex(
                        fields=["minute"], name="use_by_minute"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pool", "minute"), name="one_row_of_use_per_minute"
                    )
                ],
            },
        ),
    ]
