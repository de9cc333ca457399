"""The renderings of a run that were ended early, by fetch status."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0013_renditions")]

    operations = [
        migrations.AddField(
            model_name="runrendering",
            name="ended",
            field=models.JSONField(
                db_default={},
                default=dict,
                help_text="by fetch status: how many pages were not rendered to the end",
            ),
        ),
    ]
