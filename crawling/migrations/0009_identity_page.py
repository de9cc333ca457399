"""The identity says what crawls are for and which addresses they come from."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0008_listener_message_format")]

    operations = [
        migrations.AddField(
            model_name="identity",
            name="purpose",
            field=models.TextField(
                blank=True,
                default="",
                help_text="what you crawl for and what becomes of the pages; site owners read it",
                max_length=2000,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="identity",
            name="addresses",
            field=models.TextField(
                blank=True,
                default="",
                help_text="the networks that your crawls come from, one a line; site owners check "
                "them",
                max_length=1000,
            ),
            preserve_default=False,
        ),
    ]
