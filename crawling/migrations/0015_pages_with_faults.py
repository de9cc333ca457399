"""The list of pages with failed requests or console errors reads only these."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0014_ended_renderings")]

    operations = [
        migrations.AddIndex(
            model_name="page",
            index=models.Index(
                condition=models.Q(("rendition__has_faults", True)),
                fields=["run", "fetched_at", "url"],
                name="pages_with_faults",
            ),
        ),
    ]
