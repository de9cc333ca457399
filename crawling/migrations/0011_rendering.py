"""Orders say which pages a browser renders."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0010_files_of_runs")]

    operations = [
        migrations.AddField(
            "crawljob",
            "rendering",
            models.JSONField(
                default=dict,
                blank=True,
                db_default={},
                help_text="which pages a browser renders: `crawling.orders.sections.rendering`",
            ),
        )
    ]
