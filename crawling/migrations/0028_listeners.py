"""Webhooks become listeners: a mailbox is one, too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0027_totals_by_minute")]

    operations = [
        migrations.RenameModel("Webhook", "Listener"),
        migrations.RenameField("Delivery", "webhook", "listener"),
        migrations.AlterField("Delivery", "body", models.TextField(help_text="the facts, in JSON: what a webhook is sent, byte by byte")),
    ]
