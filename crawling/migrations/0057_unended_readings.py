"""Readings of seed sources that were killed are counted."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0056_microformats")]

    operations = [
        migrations.AddField(
            model_name="seedsource",
            name="unended",
            field=models.PositiveSmallIntegerField(
                db_default=0, help_text="readings that began since the latest one that ended"
            ),
        ),
    ]
