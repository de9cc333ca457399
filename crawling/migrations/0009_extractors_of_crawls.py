from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("crawling", "0008_words_of_fields")]

    operations = [
        migrations.AddField(
            "crawljob",
            "extractor",
            models.CharField(
                max_length=120,
                blank=True,
                default="",
                db_default="",
                help_text="the extractor whose rules are among those of `extract`, as "
                "NAME@REVISION; empty: none",
            ),
        ),
        migrations.AddIndex(
            "crawljob",
            models.Index(
                fields=["extractor"], condition=~Q(extractor=""), name="crawls_by_extractor"
            ),
        ),
    ]
