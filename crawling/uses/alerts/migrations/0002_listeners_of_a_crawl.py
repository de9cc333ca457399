"""Listeners of one crawl, and those that are told of each week."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0001_listeners"),
        ("crawling", "0005_jobs_and_plans"),
    ]

    operations = [
        migrations.AddField(
            model_name="listener",
            name="crawl",
            field=models.ForeignKey(
                help_text="only of this crawl, with which it goes; empty: of all, and of pools",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="crawling.crawljob",
            ),
        ),
        migrations.AddField(
            model_name="listener",
            name="week_told_at",
            field=models.DateTimeField(
                help_text="end of the latest week that it was told of, or when it first asked",
                null=True,
            ),
        ),
    ]
