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
    ]
