from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0042_priority"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="aborted_at",
            field=models.DateTimeField(help_text="since then its fetches are cut off; empty: they are let end", null=True),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("is_latest", True)), fields=["finished_at"], name="latest_runs_by_end"),
        ),
        migrations.RemoveIndex(model_name="page", name="duplicates_of_a_run"),
        migrations.AddIndex(
            model_name="page",
            index=models.Index(
                condition=models.Q(("duplicate_of__isnull", False)),
                fields=["run", "duplicate_of", "url"],
                include=["bytes"],
                name="duplicates_of_a_run",
            ),
        ),
        migrations.AddIndex(
            model_name="page",
            index=models.Index(
                condition=models.Q(("status__range", (300, 399))), fields=["run", "fetched_at", "url"], name="redirects_of_a_run_in_time"
            ),
        ),
    ]
