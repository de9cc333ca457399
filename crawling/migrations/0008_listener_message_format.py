"""Alerts are sent to chats in the shape that each reads."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0007_trials")]

    operations = [
        migrations.AddField(
            model_name="listener",
            name="message_format",
            field=models.CharField(
                db_default="json",
                default="json",
                help_text="of a webhook's body: `crawling.uses.alerts`",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="body",
            field=models.TextField(
                help_text="the facts, in JSON; chats are sent a message made of them"
            ),
        ),
    ]
