"""A shift's fetch threads, by their name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0009_identity_page")]

    operations = [
        migrations.RenameField("shift", "toes", "fetch_threads"),
        migrations.AlterField(
            "shift",
            "fetch_threads",
            models.JSONField(
                default=list,
                blank=True,
                help_text="what each fetch thread does: its number, step, URL, and since when",
            ),
        ),
    ]
