"""Indexes for charts of a run, which read nothing else, and for the pages with an error."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0029_searches_of_experiments"),
    ]

    operations = [
        migrations.AlterField(
            model_name="runcount",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="counts",
                to="crawling.run",
            ),
        ),
        migrations.AddIndex(
            model_name="runcount",
            index=models.Index(
                fields=["run", "minute"],
                include=("fetched", "failed", "discovered", "bytes"),
                name="counts_charted",
            ),
        ),
        migrations.AddIndex(
            model_name="page",
            index=models.Index(
                condition=models.Q(("status__gte", 400)),
                fields=["run", "status", "fetched_at", "url"],
                name="error_pages_in_time",
            ),
        ),
    ]
