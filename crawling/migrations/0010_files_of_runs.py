"""Files that pages load are counted, so that the limit of pages is on pages."""

from django.db import migrations, models

OF_FETCHED = "of those fetched, the files that pages load"


class Migration(migrations.Migration):
    dependencies = [("crawling", "0009_extractors_of_crawls")]

    operations = [
        migrations.AddField(
            model, "files", models.BigIntegerField(db_default=0, help_text=OF_FETCHED)
        )
        for model in ("runtotal", "runcount")
    ]
