"""News are the findings of the last days."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("watches", "0001_watched_pages")]

    operations = [
        migrations.AddIndex(
            model_name="watchevent",
            index=models.Index(fields=["found_at"], name="watch_events_by_time"),
        ),
    ]
