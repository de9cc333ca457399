"""The news that each user has read, and the feed of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawlsite", "0001_tokens_and_preferences")]

    operations = [
        migrations.AddField(
            model_name="preference",
            name="news_read_until",
            field=models.DateTimeField(
                help_text="news that were found until then are read; empty: none are", null=True
            ),
        ),
        migrations.AddField(
            model_name="preference",
            name="news_feed_number",
            field=models.PositiveIntegerField(
                db_default=1,
                default=1,
                help_text="a part of the feed's secret address; another ends it",
            ),
        ),
    ]
